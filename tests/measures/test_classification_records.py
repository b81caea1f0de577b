"""The list of labels is data; records without a label are refused."""

from __future__ import annotations

from enum import Enum

import pytest

from goldassay.ext.compat import hierarchical_type_metrics
from goldassay.measures import classification as c
from goldassay.measures import extraction, triples


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


class Plain(Enum):
    M = "M"
    L = "L"


class Text(str, Enum):  # noqa: UP042  as people write them
    M = "M"
    L = "L"


@pytest.mark.parametrize("team", [Plain, Text])
def test_a_member_of_an_enum_is_its_value(team: type[Plain] | type[Text]) -> None:
    # flawed: "Text.M" is another label than "M", so that a program with typed answers scores 0
    assert c.Accuracy()({"label": "M"}, {"label": team.M}).tally.value == 1
    assert c.Accuracy()({"label": team.M}, {"label": "L"}).tally.value == 0
    assert c.sides({"label": "M"}, {"label": "M", "secondary_labels": [team.L]}).pred_others == {"L"}
    span = {"start": 0, "end": 1, "type": team.M}
    assert extraction.spans([span])[0].type == "M"
    assert triples.F1()({"triples": [("a", "M", "b")]}, {"triples": [("a", team.M, "b")]}).tally.value == 1
