"""Riverbank's ground truth of one article, with a pattern program scored on it."""

from __future__ import annotations

import json
from pathlib import Path

from goldassay import workspace
from goldassay.measures import triples

ArticlePatterns = workspace.load(workspace.installed() / "programs" / "triples.py").ArticlePatterns
TEXT = (
    "Marie Curie (7 November 1867 – 4 July 1934) was a physicist and chemist. She was born in Warsaw. In 1895 she "
    "married the French physicist Pierre Curie. She won the Nobel Prize in Physics in 1903 and received the Nobel "
    "Prize in Chemistry in 1911. She was awarded the Davy Medal. She was a professor at the University of Paris. "
    "She died in Sancellemoz and was buried at the Panthéon."
)


def test_the_real_ground_truth(shared_data: Path) -> None:
    lines = (shared_data / "wikidata-benchmark" / "marie-curie.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = []
    gold = []
    for line in map(json.loads, lines):
        name = line["wikidata_property"] or line["predicates"][0]
        pairs += [(predicate, name) for predicate in (*line["predicates"], name)]
        item = {"object_type": "item"} if line["object_type"] == "iri" else {}
        value = line["object"].replace("_", " ") if item else line["object"]
        gold.append({"subject": "Marie Curie", "predicate": name, "object": value, **item})
    assert len(gold) == 45
    prediction = ArticlePatterns()(text=TEXT, title="Marie Curie")
    card = triples.scorecard([{"triples": gold}], [prediction], alignment=tuple(pairs))
    # covered: P569, P570, P19, P26, P166 physics, P166 chemistry, P166 Davy Medal, P108, P119, P106 twice = 11 of 45;
    # wrong as the truth sees it: died in Sancellemoz, where the truth has Passy
    assert {name: card.counts["triples"][name] for name in ("tp", "fp", "fn")} == {"tp": 11, "fp": 1, "fn": 34}
    assert card.values["precision"] == 11 / 12
