"""Wikidata's JSON dumps: streamed, filtered, and the same statements as from anywhere else."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from goldassay.exceptions import DataError
from goldassay.wikidata import entities as dumps
from goldassay.wikidata.client import WikidataClient


def snak(property_: str, datatype: str, value: Any = None, **more: Any) -> dict[str, Any]:
    found = {"snaktype": "value", "property": property_, "datatype": datatype, "datavalue": {"value": value}}
    return {**found, **more}


def entity(qid: str, *snaks: dict[str, Any], rank: str = "normal") -> dict[str, Any]:
    claims: dict[str, Any] = {}
    for one in snaks:
        claims.setdefault(one["property"], []).append({"mainsnak": one, "rank": rank, "references": [{}]})
    return {
        "type": "item",
        "id": qid,
        "labels": {"en": {"language": "en", "value": f"label of {qid}"}},
        "aliases": {"en": [{"language": "en", "value": f"alias of {qid}"}]},
        "sitelinks": {"enwiki": {"site": "enwiki", "title": f"Title {qid}"}},
        "claims": claims,
    }


WD = "http://www.wikidata.org/entity/"
ENTITIES = [
    entity(
        "Q1",
        snak("P31", "wikibase-item", {"entity-type": "item", "numeric-id": 5, "id": "Q5"}),
        snak("P31", "wikibase-item", {"entity-type": "item", "numeric-id": 6}),
        snak("P569", "time", {"time": "+1885-00-00T00:00:00Z", "precision": 9, "calendarmodel": f"{WD}Q1985727"}),
        snak("P1082", "quantity", {"amount": "+100", "unit": "1"}),
        snak("P2043", "quantity", {"amount": "+5", "unit": f"{WD}Q11573", "upperBound": "+6", "lowerBound": "+4"}),
        snak("P625", "globe-coordinate", {"latitude": 52.0, "longitude": 4.0, "altitude": None, "globe": f"{WD}Q2"}),
        snak("P1448", "monolingualtext", {"text": "Delft", "language": "nl"}),
        snak("P40", "wikibase-item", snaktype="somevalue"),
        snak("P26", "wikibase-item", snaktype="novalue"),
    ),
    entity("Q2", snak("P31", "wikibase-item", {"entity-type": "item", "id": "Q5"}), rank="deprecated"),
    entity("Q5"),
]  # fmt: skip


def written(folder: Path, name: str) -> Path:
    """The entities as an array of lines, as Wikidata's dumps are, or one a line; packed by the file's name."""
    lines = [json.dumps(one) for one in ENTITIES]
    text = "[\n" + ",\n".join(lines) + "\n]\n" if "array" in name else "\n".join(lines) + "\n"
    file = folder / name
    packed: Any = {".gz": gzip.compress, ".bz2": bz2.compress}.get(file.suffix, bytes)
    file.write_bytes(packed(text.encode()))
    return file


@pytest.mark.parametrize("name", ["array.json", "lines.json", "array.json.gz", "lines.json.bz2"])
def test_every_form_of_a_dump(name: str, tmp_path: Path) -> None:
    found = list(dumps.read_dump(written(tmp_path, name)))
    assert [item.id for item in found] == ["Q1", "Q2", "Q5"]
    said = [(one.property, one.value) for one in found[0].statements]
    assert ("P31", "Q5") in said
    assert ("P31", "Q6") in said
    assert ("P40", None) in said
    assert "P26" not in dict(said)  # said to have none: no statement of a value
    assert dict(said)["P1082"] == {"amount": "+100", "unit": ""}
    assert dict(said)["P2043"]["unit"] == "Q11573"
    assert [one.id for one in dumps.read_dump(tmp_path / name, {"Q2", "Q9"})] == ["Q2"]


def test_a_dump_answers_the_services_queries(tmp_path: Path) -> None:
    client = WikidataClient(written(tmp_path, "array.json.gz"))
    item = client.item_of("Title Q1")
    assert item.id == "Q1"
    said = {one.property: one for one in item.statements}
    assert said["P569"].value["precision"] == 9
    assert said["P569"].value["time"].startswith("+1885")
    assert float(said["P1082"].value["amount"]) == 100
    assert said["P1082"].value["unit"] == ""
    assert float(said["P2043"].value["upperBound"]) == 6
    assert said["P1448"].value == {"text": "Delft", "language": "nl"}
    assert {one.rank for one in client.item("Q2").statements} == {"deprecated"}
    assert client.names(["Q5"])["Q5"] == ["label of Q5", "alias of Q5"]


def test_what_is_no_dump_says_the_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text('{"id": "Q1"}\n{"id": "Q2", \n')
    with pytest.raises(DataError, match=r"bad\.json:2: .*not JSON"):
        list(dumps.read_dump(file))
    file.write_text('{"id": "Q1", "claims": {"P31": [{"rank": "normal"}]}}\n')
    with pytest.raises(DataError, match=r"bad\.json:1: record Q1: not an entity of Wikidata: KeyError 'mainsnak'"):
        list(dumps.read_dump(file))
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(b'{"id": "Q1"}\n' * 1000)[:-8])
    with pytest.raises(DataError, match="cannot be read"):
        list(dumps.read_dump(tmp_path / "cut.json.gz"))
    with pytest.raises(DataError, match="cannot be read"):
        list(dumps.read_dump(tmp_path / "absent.json"))
