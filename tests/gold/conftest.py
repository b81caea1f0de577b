"""Small own files in the formats of official data, so that a rule shows on a clean clone too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

HEAD = "TOKEN NE-COARSE-LIT NE-COARSE-METO NE-FINE-LIT NE-FINE-METO NE-FINE-COMP NE-NESTED NEL-LIT NEL-METO MISC"
# token, coarse, metonymic, fine, component, nested, link, what stands under MISC; the rest is O and _
ONE = [
    ("Das", "O", "O", "O", "O", "O", "_", "_"),
    ("Hafen", "B-org", "O", "B-org.museum", "O", "O", "Q900001|Q900002", "NoSpaceAfter"),
    ("¬", "I-org", "O", "I-org.museum", "O", "O", "Q900001|Q900002", "EndOfLine|NoSpaceAfter"),
    ("museum", "I-org", "O", "I-org.museum", "O", "O", "Q900001|Q900002", "_"),
    ("Emden", "I-org", "B-loc", "I-org.museum", "B-comp.place", "B-loc.town", "Q900001|Q900002", "NoSpaceAfter"),
    (".", "O", "O", "O", "O", "O", "_", "EndOfSentence|EndOfLine"),
    ("Frau", "B-pers", "O", "B-pers.guide", "B-comp.title", "O", "NIL", "_"),
    ("Deichmann", "I-pers", "O", "I-pers.guide", "B-comp.name", "O", "NIL", "_"),
    ("führt", "O", "O", "O", "O", "O", "_", "NoSpaceAfter"),
    ("!", "O", "O", "O", "O", "O", "_", "EndOfSentence"),
]
TWO = [
    ("Otto", "B-pers", "O", "B-pers.guide", "O", "O", "NIL", "_"),
    ("Anna", "B-pers", "O", "B-pers.guide", "O", "O", "NIL", "_"),
    ("sahen", "O", "O", "O", "O", "O", "_", "_"),
    ("Borkum", "B-loc", "O", "B-loc.island", "O", "O", "Q900003", "_"),
]

KIT = {
    "articles.yaml": """articles:
- title: Hafenmuseum Emden
  qid: Q900001
  domain: organization
- title: Borkum
  qid: Q900003
  domain: geographic
""",
    "annotations.yaml": """annotations:
- id: 1
  domain: organization
  article: Hafenmuseum Emden
  triple: [Hafenmuseum Emden, ex:opened, '1931']
  verdict: correct
  evidence: the plate at its door
  annotator: human
- id: 2
  domain: geographic
  article: Borkum
  triple: [Borkum, ex:likes, tea]
  verdict: incorrect
  evidence: nobody says so
  annotator: human
""",
    "properties.yaml": """version: 1
description: three properties
count: 2
alignments:
- wikidata_pid: P571
  wikidata_label: inception
  riverbank_predicates:
  - ex:opened
  - ex:founded
  alignment_confidence: 0.9
  notes: 'Universal: every house has one'
- wikidata_pid: P131
  wikidata_label: located in
  riverbank_predicates:
  - ex:in
  alignment_confidence: 0.8
  notes: ''
""",
}


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of each official format: HIPE, SQuAD, trec, Text2KGBench, the kit's three."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "hipe.tsv").write_text(hipe(), encoding="utf-8")
    context = "The harbour museum opened in 1931; its tower is 40 m high."
    trios = [("q1", "When did it open?", "1931"), ("q2", "How high is the tower?", "40 m")]
    questions = [
        {"id": key, "question": text, "answers": [{"text": statements, "answer_start": context.index(statements)}]}
        for key, text, statements in trios
    ]
    squad = {"version": "1.1", "data": [{"title": "Harbour", "paragraphs": [{"context": context, "qas": questions}]}]}
    (folder / "squad.json").write_text(json.dumps(squad), encoding="utf-8")
    (folder / "qrels").write_text("7 0 doc-b 0\n7 0 doc-a 2\n9 0 doc-c 1\n", encoding="utf-8")
    lines = ["7 Q0 doc-a 2 1.25 own", "7 Q0 doc-b 9 0.5 own", "9 Q0 doc-c 1 -3.0 own"]
    (folder / "run").write_text("\n".join(lines) + "\n", encoding="utf-8")
    triple = {"sub": "harbour museum", "rel": "opened", "obj": "1931"}
    statements = [
        {"id": "own_1", "sent": context, "triples": [triple]},
        {"id": "own_2", "sent": "Café!", "triples": []},
    ]
    rows = [json.dumps(row) + "\n" for row in statements]
    (folder / "text2kgbench.jsonl").write_text("".join(rows), encoding="utf-8")
    for name, text in KIT.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def hipe() -> str:
    """Two documents: a hyphen at the end of a line, a nested place, alternatives, neighbours without a link."""
    out = [HEAD.replace(" ", "\t")]
    for name, rows in (("own-one", ONE), ("own-two", TWO)):
        out += ["# hipe2022:language = de", f"# hipe2022:document_id = {name}", "# hipe2022:date = 1931-05-02"]
        out += ["\t".join((a, b, c, d, "O", e, f, g, "_", h)) for a, b, c, d, e, f, g, h in rows]
        out.append("")
    return "\n".join(out)
