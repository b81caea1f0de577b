"""Classes of several items by one query to a store, and where a merged item went."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import wikibase_rdf as rdf

from goldassay.exceptions import GoldassayError
from goldassay.wikidata.client import WikidataClient
from goldassay.wikidata.entities import Item, Statement

pytest.importorskip("pyoxigraph")


def test_classes_from_a_store(tmp_path: Path) -> None:
    of = [Statement("P31", name, "wikibase-item") for name in ("Q515", "Q5119")]
    items = [Item("Q90", {"en": "Paris"}, statements=tuple(of)), Item("Q2", {"en": "x"}), Item("Q3", {"en": "Paris"})]
    rdf.write(items, tmp_path / "s.nt")
    client = WikidataClient(tmp_path / "s.nt")
    assert client.classes(["Q90", "Q2"]) == {"Q90": {"Q515", "Q5119"}}
    assert client.classes([]) == {}
    with pytest.raises(GoldassayError):
        client.classes(["Q90> . ?s ?p ?o"])


def test_where_a_merged_item_went(tmp_path: Path) -> None:
    same = "<http://www.w3.org/2002/07/owl#sameAs>"
    entity = "http://www.wikidata.org/entity/"
    (tmp_path / "s.nt").write_text(f"<{entity}Q5> {same} <{entity}Q6> .\n")
    client = WikidataClient(tmp_path / "s.nt")
    assert [client.merged_into(qid) for qid in ("Q5", "Q6")] == ["Q6", None]


def test_the_classes_of_more_items_than_one_query_takes(tmp_path: Path) -> None:
    items = [Item(f"Q{n}", statements=(Statement("P31", "Q5", "wikibase-item"),)) for n in range(1, 121)]
    rdf.write(items, tmp_path / "s.nt")
    assert len(WikidataClient(tmp_path / "s.nt").classes([item.id for item in items])) == 120
