"""The list of labels is data; records without a label are refused."""

from __future__ import annotations

from goldassay.ext.compat import hierarchical_type_metrics
from goldassay.measures import classification as c


def test_the_hierarchy_is_data() -> None:
    types = c.institutions()
    groups = {label.group: {code for code in types if types[code].group == label.group} for label in types.values()}
    assert groups == {
        "CULTURAL": set("GLAM"), "INSTITUTIONAL": set("ORE"), "COMMUNITY": set("SIN"), "SPECIALIZED": set("BHTF"),
        "DIGITAL": set("D"), "PRIVATE": set("CP"), "UNKNOWN": set("UX"),
    }  # fmt: skip
    assert tuple(types) == tuple("GLAMORCUBESFIXPHDNT")
    tree = {"memory": ["L", "A"], "show": ["M", "G"]}
    assert hierarchical_type_metrics(["L", "L"], ["A", "M"], tree)["category_accuracy"] == 0.5
    assert c.scorecard([{"label": "L"}], [{"label": "M"}], hierarchy=tree).values["category_accuracy"] == 0.0
