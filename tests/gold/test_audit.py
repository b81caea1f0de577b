"""The audit: planted defects of all kinds are found, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.gold.audit import FINDING_KINDS, GoldAudit, audit, repaired
from goldassay.gold.audit.records import Finding
from goldassay.results.view import Table

Sets = dict[str, Any]  # file name to rows; the card under "card.yaml"
STORIES = [
    "Het stadsmuseum van Delft toont aardewerk uit de zeventiende eeuw.",
    "Im Archiv der Stadt Bremen liegen Urkunden der Hanse.",
    "The library in Leeds lends maps, scores and early photographs.",
    "Quatre peintres fondent une galerie au bord du lac.",
    "Oude zaden worden bewaard in kassen bij Wageningen.",
    "A brass band keeps its instruments and banners in Hull.",
    "Ein Verein sammelt Mundart, Lieder und Rezepte aus der Rhön.",
    "Le fonds de cartes marines vient de Brest et de Lorient.",
]
SPLITS = ["train", "train", "train", "train", "train", "dev", "test", "test"]
TONGUES = ["nl", "de", "en", "fr", "nl", "en", "de", "fr"]
PLACES = ["Delft", "Bremen", "Leeds", "lac", "Wageningen", "Hull", "Rhön", "Brest"]
LABELS = ["M", "A", "L", "G", "B", "S", "S", "A"]


def sound() -> Sets:
    """A small set with nothing off."""
    base: list[dict[str, Any]] = [
        {"id": f"d{i}", "language": TONGUES[i], "split": SPLITS[i], "text": text} for i, text in enumerate(STORIES)
    ]
    spans = [(text.index(place), text.index(place) + len(place)) for text, place in zip(STORIES, PLACES, strict=True)]
    extraction = [
        {**row, "entities": [{"start": a, "end": b, "type": "TOP", "text": place}]}
        for row, (a, b), place in zip(base, spans, PLACES, strict=True)
    ]
    linking: list[dict[str, Any]] = [
        {**row, "links": [{"start": a, "end": b, "text": place, "ids": {"wikidata": [f"Q{700 + i}"]} if i else {}}]}
        for i, (row, (a, b), place) in enumerate(zip(base, spans, PLACES, strict=True))
    ]
    linking[1]["links"][0]["ids"] |= {"viaf": ["148691498"], "isil": ["NL-AmRM"]}
    questions = ["Where is the library?", "Welke eeuw wordt getoond?", "Qui fonde?", "Was sammelt der Verein?"]
    facts = ["The library in Leeds", "zeventiende eeuw", "Quatre peintres", "Mundart, Lieder"]
    documents = ["d2", "d0", "d3", "d6"]
    answering = [
        {"id": f"a{i}", "question": question, "answers": [fact], "answer_type": "factual", "documents": [document]}
        | {"supporting_facts": [fact], "split": SPLITS[int(document[1])]}
        for i, (question, fact, document) in enumerate(zip(questions, facts, documents, strict=True))
    ]
    queries = ["aardewerk museum", "Urkunden Hanse", "maps and scores"]
    return {
        "extraction.jsonl": extraction,
        "linking.jsonl": linking,
        "classification.jsonl": [{**row, "label": label} for row, label in zip(base, LABELS, strict=True)],
        "answering.jsonl": answering,
        "retrieval.jsonl": [
            {"id": f"q{i}", "query": query, "relevant": {f"d{i}": 3, f"d{i + 1}": 0}} for i, query in enumerate(queries)
        ],
        "triples.jsonl": [
            {**row, "triples": [{"subject": "it", "predicate": "P131", "object": place}]}
            for row, place in zip(base, PLACES, strict=True)
        ],
        "passages.jsonl": [{"id": row["id"], "text": row["text"]} for row in base],
        "card.yaml": {
            "name": "small",
            "languages": ["nl", "de", "en", "fr"],
            "tag_set": [{"type": "TOP"}, {"type": "MUS"}],
            "label_set": [{"label": label} for label in "MALGBS"],
            "documents": {"records": 8, "splits": {"train": 5, "dev": 1, "test": 2}},
            "tasks": {
                "extraction": {"records": 8, "types": {"TOP": 8}},
                "linking": {
                    "links": 8,
                    "nil": 1,
                    "nil_ratio": 0.125,
                    "identifiers": {"wikidata": 7, "viaf": 1, "isil": 1},
                },
                "retrieval": {"queries": 3, "judgements_per_query": 2, "graded_relevance": [0, 1, 2, 3]},
                "answering": {"question_types": ["factual", "unanswerable"], "answer_types": {"factual": 4}},
                "triples": {"triples": 8, "predicates": {"P131": 8}},
            },
            "tables": {"passages": {"file": "passages.jsonl", "records": 8}},
        },
    }


def save(folder: Path, found: Sets) -> Path:
    folder.mkdir(exist_ok=True)
    for name, rows in found.items():
        lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
        text = yaml.safe_dump(rows) if name == "card.yaml" else "\n".join(lines) + "\n"
        (folder / name).write_text(text, encoding="utf-8")
    return folder


Plant = Callable[[Sets], object]


def _extraction(i: int, **changes: Any) -> Plant:
    return lambda s: s["extraction.jsonl"][i]["entities"][0].update(changes)


def _add(file: str, i: int, field: str, value: Any) -> Plant:
    return lambda s: s[file][i][field].append(value)


def _set(file: str, i: int, field: str, value: Any) -> Plant:
    return lambda s: s[file][i].update({field: value})


def _card(*path: str, value: Any) -> Plant:
    def plant(s: Sets) -> None:
        card = s["card.yaml"]
        for key in path[:-1]:
            card = card[key]
        card[path[-1]] = value

    return plant


def _ids(i: int, **ids: list[str]) -> Plant:
    return lambda s: s["linking.jsonl"][i]["links"][0].update(ids=ids)


def _line(file: str, i: int, text: str) -> Plant:
    return lambda s: s[file].__setitem__(i, text)


def _span(start: int, end: int, text: str, kind: str = "TOP") -> dict[str, Any]:
    return {"start": start, "end": end, "type": kind, "text": text}


def _retexted(i: int, text: str) -> Plant:
    """Another text in classification alone; its document has no other task, so that nothing contradicts it."""

    def plant(s: Sets) -> None:
        s["classification.jsonl"][i] |= {"text": text, "id": "new"}
        documents = s["card.yaml"]["documents"]
        documents["records"] += 1
        documents["splits"][SPLITS[i]] += 1

    return plant


# Each: what is planted, the kind of the finding, its file, its record. Those that the card counts are planted with the
# card's count corrected, so that the planted defect is the only one.
PLANTED: list[tuple[str, Plant, str, str, str | None]] = [
    ("an offset off by two", _extraction(0, start=22, end=27), "offset", "extraction.jsonl", "d0"),
    ("an offset beyond the text", _extraction(1, start=90, end=96), "offset", "extraction.jsonl", "d1"),
    ("an end before the start", _extraction(2, end=3), "offset", "extraction.jsonl", "d2"),
    ("a text that does not occur", _extraction(3, text="mer"), "offset", "extraction.jsonl", "d3"),
    ("a space at the end of a span", _extraction(4, start=39, text=" Wageningen"), "edge", "extraction.jsonl", "d4"),
    ("crossing spans", lambda s: (s["extraction.jsonl"][5]["entities"].append(_span(2, 12, "brass band", "MUS")),
     s["extraction.jsonl"][5]["entities"].append(_span(8, 18, "band keeps", "MUS")),
     _card("tasks", "extraction", "types", value={"TOP": 8, "MUS": 2})(s)), "crossing", "extraction.jsonl", "d5"),
    ("a span twice", lambda s: (s["extraction.jsonl"][6]["entities"].append(_span(55, 59, "Rhön")),
     _card("tasks", "extraction", "types", value={"TOP": 9})(s)), "repeated", "extraction.jsonl", "d6"),
    ("an unknown type", lambda s: (_extraction(7, type="LOC")(s),
     _card("tasks", "extraction", "types", value={"TOP": 7, "LOC": 1})(s)), "label", "extraction.jsonl", "d7"),
    ("an unknown label", _set("classification.jsonl", 0, "label", "Z"), "label", "classification.jsonl", "d0"),
    ("label and secondary label", _set("classification.jsonl", 1, "secondary_labels", ["A"]),
     "conflict", "classification.jsonl", "d1"),
    ("a double text", _retexted(2, STORIES[0] + " "), "conflict", "classification.jsonl", "new"),
    ("a near double", _retexted(3, STORIES[0].replace("toont", "toonde")), "near", "classification.jsonl", "new"),
    ("a leak", _retexted(7, STORIES[0].replace("toont", "toonde")), "leak", "classification.jsonl", "new"),
    ("an id twice", _set("classification.jsonl", 4, "id", "d3"), "id", "classification.jsonl", "d3"),
    ("a Wikidata id without Q", _ids(2, wikidata=["702"]), "identifier", "linking.jsonl", "d2"),
    ("a VIAF id with a letter", _ids(1, wikidata=["Q701"], viaf=["14869149X"], isil=["NL-AmRM"]),
     "identifier", "linking.jsonl", "d1"),
    ("an ISIL without a prefix", _ids(1, wikidata=["Q701"], viaf=["148691498"], isil=["AmRM"]),
     "identifier", "linking.jsonl", "d1"),
    ("a statement twice", lambda s: (s["triples.jsonl"][1]["triples"].append(dict(s["triples.jsonl"][1]["triples"][0])),
     _card("tasks", "triples", value={"triples": 9})(s)), "repeated", "triples.jsonl", "d1"),
    ("an empty object", lambda s: s["triples.jsonl"][2]["triples"][0].update(object=" "),
     "text", "triples.jsonl", "d2"),
    ("a typed object without a value", lambda s: s["triples.jsonl"][3]["triples"][0].update(
        object={"type": "item", "id": ""}), "text", "triples.jsonl", "d3"),
    ("a fact that is not in its document", _set("answering.jsonl", 0, "supporting_facts", ["The museum in Leeds"]),
     "reference", "answering.jsonl", "a0"),
    ("a wrong count", _card("tasks", "extraction", "records", value=9), "count", "card.yaml", None),
    ("a wrong count of a split", _card("documents", "splits", "dev", value=2), "count", "card.yaml", None),
    ("a wrong count of a table", _card("tables", "passages", "records", value=9), "count", "card.yaml", None),
    ("a NIL ratio", _card("tasks", "linking", "nil_ratio", value=0.3), "promise", "card.yaml", None),
    ("samples a type", _card("tasks", "extraction", "samples_per_type", value=100), "promise", "card.yaml", None),
    ("judgements a query", lambda s: s["retrieval.jsonl"][0]["relevant"].pop("d1"), "promise", "retrieval.jsonl", "q0"),
    ("a passage that is not there", lambda s: s["retrieval.jsonl"][1]["relevant"].update(d99=1),
     "reference", "retrieval.jsonl", "q1"),
    ("a grade beyond the scale", lambda s: s["retrieval.jsonl"][2]["relevant"].update(d2=4),
     "label", "retrieval.jsonl", "q2"),
    ("an unanswerable question with an answer", lambda s: (s["answering.jsonl"][1].update(answer_type="unanswerable"),
     _card("tasks", "answering", "answer_types", value={"factual": 3, "unanswerable": 1})(s)),
     "conflict", "answering.jsonl", "a1"),
    ("another language than declared", lambda s: [row.update(language="it") for row in s["triples.jsonl"][:0]] or
     _set("answering.jsonl", 2, "language", "it")(s), "language", "answering.jsonl", "a2"),
    ("a text of spaces", _set("answering.jsonl", 3, "question", " "), "text", "answering.jsonl", "a3"),
    ("a field that is not in the shape", _set("answering.jsonl", 2, "answr", "x"), "schema", "answering.jsonl", "a2"),
    ("a line cut off", _line("classification.jsonl", 5, '{"id": "d5", "text": "A brass'),
     "unreadable", "classification.jsonl", None),
    ("another split in another task", _set("triples.jsonl", 6, "split", "dev"), "leak", "triples.jsonl", "d6"),
]  # fmt: skip


def run(tmp_path: Path, found: Sets, name: str = "set") -> GoldAudit:
    return audit(save(tmp_path / name, found))


def test_a_sound_set_is_clean(tmp_path: Path) -> None:
    report = run(tmp_path, sound())
    assert report.clean, report.findings
    assert report.records["extraction"] == 8


@pytest.mark.parametrize(("what", "plant", "kind", "file", "record"), PLANTED, ids=[row[0] for row in PLANTED])
def test_a_planted_defect_is_found_and_nothing_else(
    tmp_path: Path, what: str, plant: Plant, kind: str, file: str, record: str | None
) -> None:
    files = sound()
    plant(files)
    if what == "a field that is not in the shape":
        files["card.yaml"]["tasks"]["answering"]["answer_types"] = {"factual": 3}
    assert [(f.kind, f.file, f.record) for f in run(tmp_path, files).findings] == [(kind, file, record)]


def test_all_at_once(tmp_path: Path) -> None:
    assert {row[2] for row in PLANTED} | {"duplicate"} == set(FINDING_KINDS)
    alone = {"a field that is not in the shape", "a line cut off", "a double text", "a near double", "an id twice"}
    clash = {"an ISIL without a prefix"}  # the same link as the VIAF id
    files = sound()
    chosen = [row for row in PLANTED if row[0] not in alone | clash]
    for _, plant, *_ in chosen:
        plant(files)
    # what several of them change in the card, put right together: only LOC, with one, has fewer samples than promised
    files["card.yaml"]["tasks"]["extraction"] |= {"types": {"TOP": 8, "MUS": 2, "LOC": 1}, "samples_per_type": 2}
    files["card.yaml"]["tasks"]["triples"] = {"triples": 9, "predicates": {"P131": 9}}
    files["classification.jsonl"].append({"id": "twin", "text": STORIES[5], "label": "S", "split": "dev"})
    files["card.yaml"]["documents"] = {"records": 10, "splits": {"train": 5, "dev": 3, "test": 3}}  # dev has 2
    expected = [(row[2], row[3], row[4] or "") for row in chosen] + [("duplicate", "classification.jsonl", "twin")]
    report = run(tmp_path, files)
    assert sorted((f.kind, f.file, f.record or "") for f in report.findings) == sorted(expected)
    assert report.kinds["identifier"] == 2
    json.dumps(report.state())


def test_a_fix_writes_a_sound_copy(tmp_path: Path) -> None:
    files = sound()
    _extraction(0, start=22, end=27)(files)
    report = run(tmp_path, files)
    assert repaired(tmp_path / "set", tmp_path / "mended", report.findings) == 1
    assert audit(tmp_path / "mended").clean
    before, after = ((tmp_path / name / "extraction.jsonl").read_bytes().split(b"\n") for name in ("set", "mended"))
    assert [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b] == [0]
    with pytest.raises(GoldassayError, match="a new place of its own"):
        repaired(tmp_path / "set", tmp_path / "mended", report.findings)


@drawn(30)
@given(st.integers(0, 7), st.integers(-9, 9).filter(bool))
def test_any_shifted_span_is_found_with_its_place(index: int, shift: int) -> None:
    import tempfile

    files = sound()
    span = files["extraction.jsonl"][index]["entities"][0]
    place = {key: span[key] for key in ("start", "end")}
    span |= {"start": max(0, span["start"] + shift), "end": max(1, span["end"] + shift)}
    with tempfile.TemporaryDirectory() as folder:
        [finding] = run(Path(folder), files).findings
    assert (finding.kind, finding.fix) == ("offset", place)


def test_the_founding_samples_two_spans_are_found(tmp_path: Path) -> None:
    # the well-known sample: "1800" is 60:64 and not 58:62, "Nederlandse" 98:109 and not 93:104
    text = "Het Rijksmuseum Amsterdam (ISIL: NL-AmRM) werd opgericht in 1800 en beheert "
    text += "de grootste collectie Nederlandse kunst."
    spans = [_span(4, 25, "Rijksmuseum Amsterdam", "MUS"), _span(58, 62, "1800"), _span(93, 104, "Nederlandse")]
    file = tmp_path / "sample.json"
    file.write_text(json.dumps({"id": "eval_001", "text": text, "ner_annotations": spans}), encoding="utf-8")
    report = audit(file, task="extraction")
    assert [(f.kind, f.field, f.fix) for f in report.findings] == [
        ("offset", "entities[1]", {"start": 60, "end": 64}),
        ("offset", "entities[2]", {"start": 98, "end": 109}),
    ]


def test_heritage_is_clean(root: Path) -> None:
    report = audit(root / "gold" / "heritage")
    assert report.clean, report.findings


def test_the_founding_card_is_read(tmp_path: Path) -> None:
    files = deepcopy(sound())
    files["card.yaml"] = {
        "gold_standard_dataset": {
            "metadata": {"languages": ["nl", "en", "de", "fr"]},
            "ner_annotations": {"entity_types": ["MUS", "TOP"], "samples_per_type": 8},
            "type_classification": {"samples_per_type": 1, "balanced": True},
            "entity_linking": {"nil_ratio": 0.15, "samples": 8},
            "retrieval": {"queries": 200, "judgments_per_query": 2, "graded_relevance": [0, 1, 2, 3]},
            "qa": {"question_types": ["factual"], "samples": 4},
        }
    }
    assert [f.message for f in run(tmp_path, files).findings] == [
        "8 samples a type are promised, and MUS has 0",
        "balanced is promised, and M has 1, A 2",
        "a NIL ratio of 0.15 is promised, and it is 0.125",
        "200 declared, 3 counted",
    ]


def test_a_set_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no gold set"):
        audit(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("about", "count"),
    [
        ({"context": "Opened in\n1784.", "supporting_facts": ["opened in 1784"]}, 0),  # but for case and white space
        ({"context": "Opened in 1784.", "supporting_facts": ["opened in 1785"]}, 1),
        ({"context": "Opened in 1784.", "supporting_facts": [["Museum", 0], 3]}, 0),  # sentences by number
        ({"supporting_facts": ["opened in 1785"]}, 0),  # no text to look in
        ({"documents": ["elsewhere"], "supporting_facts": ["opened in 1785"]}, 0),
    ],
)
def test_a_fact_is_looked_for_in_the_text_there_is(tmp_path: Path, about: dict[str, Any], count: int) -> None:
    file = tmp_path / "answering.jsonl"
    file.write_text(json.dumps({"id": "q", "question": "When?", "answers": ["1784"], **about}), encoding="utf-8")
    assert [f.field for f in audit(file, task="answering").findings] == ["supporting_facts[0]"] * count


def test_a_space_at_the_end_is_trimmed_in_the_copy(tmp_path: Path) -> None:
    changed = sound()
    _extraction(0, end=26, text="Delft ")(changed)
    findings = run(tmp_path, changed).findings
    assert [(f.kind, f.fix) for f in findings] == [("edge", {"start": 20, "end": 25, "text": "Delft"})]
    repaired(tmp_path / "set", tmp_path / "trimmed", findings)
    assert audit(tmp_path / "trimmed").clean


def test_the_kinds_come_before_the_findings_which_have_a_column_for_fixes_only_if_one_has() -> None:
    plain = GoldAudit("x", [Finding("leak", "in dev, too", "x.jsonl", 1, "1", "text")], {"tone": 2})
    kinds, findings = (item for item in plain.view() if isinstance(item, Table))
    assert (kinds.title, kinds.columns) == ("x: 1 finding (tone 2)", ["kind", "meaning", "findings"])
    assert findings.columns == ["kind", "where", "what"]
    moved = GoldAudit("x", [Finding("offset", "moved", "x.jsonl", fix={"start": 1, "end": 3})], {})
    assert "1:3" in [*moved.view()][1].rows[0]  # type: ignore[union-attr]
