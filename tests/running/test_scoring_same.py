"""Every protocol, format and setting gives the same values in Python and on the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

import goldassay
from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.cli.settings import TASK_SETTINGS, settings
from goldassay.gold import formats, write
from goldassay.measures.protocols import protocols

LINES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "extraction": (
        [{"id": "a", "text": "in 1800 te Delft", "entities": [(3, 7, "TMP", "1800"), (11, 16, "TOP", "Delft")]}],
        [{"id": "a", "text": "in 1800 te Delft", "entities": [(3, 7, "TMP", "1800"), (8, 16, "TOP", "te Delft")]}],
    ),
    "classification": (
        [
            {"id": "a", "text": "x", "label": "M", "meta": {"n": 2.0}},
            {"id": "b", "text": "y", "label": "L", "meta": {"n": 1.0}},
        ],
        [{"id": "a", "text": "x", "label": "M"}, {"id": "b", "text": "y", "label": "M"}],
    ),
    "linking": (
        [{"id": "a", "text": "Bern", "links": [{"start": 0, "end": 4, "ids": {"wikidata": ["Q70"]}, "text": "Bern"}]}],
        [{"id": "a", "text": "Bern", "links": [{"start": 0, "end": 4, "candidates": [{"id": "Q1"}, {"id": "Q70"}]}]}],
    ),
    "retrieval": (
        [{"id": "q", "query": "x", "relevant": {"a": 1, "b": 2}}],
        [{"id": "q", "results": [{"doc_id": "c", "score": 2.0}, {"doc_id": "a", "score": 1.0}]}],
    ),
    "answering": (
        [
            {"id": "a", "question": "When?", "answers": ["1800"], "context": "in 1800", "answer_starts": [3]},
            {"id": "b", "question": "Who?", "answers": ["Ann"], "context": "by Ann", "answer_starts": [3]},
        ],
        [{"id": "a", "answer": "1800"}, {"id": "b", "answer": "Ann B."}],
    ),
    "triples": (
        [{"id": "a", "text": "x", "triples": [{"subject": "a", "predicate": "p", "object": "b"}]}],
        [{"id": "a", "triples": [{"subject": "a", "predicate": "p", "object": "c"}]}],
    ),
    "records": (
        [{"id": "a", "text": "x", "record": {"total": "12.00", "lines": ["a", "b"], "day": None}}],
        [{"id": "a", "record": {"total": "12", "lines": ["b", "a"], "day": ""}}],
    ),
    "trajectories": (
        [{"id": "a", "question": "x", "calls": [{"name": "find", "args": {"since": "1885"}}, {"name": "read"}]}],
        [{"id": "a", "trajectory": [{"name": "find", "args": {"since": "1885-07-13", "n": 3}}, {"name": "look"}]}],
    ),
}  # fmt: skip
HIPE = "TOKEN\tNE-COARSE-LIT\tNEL-LIT\n# document_id = d\nBern\tB-loc\tQ70|Q11\nund\tO\t_\nBasel\tB-loc\tQ78\n"
DOCUMENT = {
    "title": "T",
    "vertexSet": [[{"name": "Ann"}], [{"name": "Emma"}]],
    "labels": [{"h": 0, "t": 1, "r": "P50"}, {"h": 1, "t": 0, "r": "P1"}],
}
KNOWN = {**DOCUMENT, "labels": DOCUMENT["labels"][:1]}
FACT = {"title": "T", "h_idx": 0, "t_idx": 1, "r": "P50"}
AREA = {"name": "area", "parameters": {"properties": {"base": {"type": "integer"}}, "required": ["base"]}}
AREA_GOLD = {"id": "a", "question": "q", "functions": [AREA], "ground_truth": [{"area": {"base": [10]}}]}
HOTPOT = {"_id": "a", "question": "When?", "answer": "1784", "supporting_facts": [["T", 0]], "context": []}
MUSIQUE = {
    "id": "a",
    "question": "When?",
    "answer": "1784",
    "answer_aliases": [],
    "answerable": True,
    "paragraphs": [{"idx": 0, "is_supporting": True}, {"idx": 1, "is_supporting": False}],
}
MUSIQUE_PRED = {"id": "a", "predicted_answer": "1784", "predicted_support_idxs": [1], "predicted_answerable": True}
TRIVIA = {
    "Data": [{"QuestionId": "a", "Question": "When?", "Answer": {"NormalizedAliases": ["1784"]}}],
    "Domain": "Wikipedia",
}
DROP = {"p": {"passage": "", "qa_pairs": [{"query_id": "a", "question": "When?", "answer": {"number": "1784"}}]}}
KILT = {"id": "a", "input": "When?", "output": [{"answer": "1784", "provenance": [{"wikipedia_id": "7"}]}]}
SQUAD = {
    "data": [
        {
            "title": "T",
            "paragraphs": [
                {
                    "context": "in 1800",
                    "qas": [
                        {"id": "a", "question": "When?", "answers": [{"text": "1800", "answer_start": 3}]},
                        {"id": "b", "question": "Who?", "answers": []},
                        {"id": "c", "question": "Why?", "answers": []},
                    ],
                }
            ],
        }
    ]
}
COREF = "#begin document (T); part 000\nT 0 0 a (1)\nT 0 1 b {}\nT 0 2 c (2)\n\n#end document\n"
WEBNLG = (
    '<b><entries><entry category="F" eid="1"><{set}tripleset><{t}triple>a | r | {o}</{t}triple></{set}tripleset>'
    "</entry></entries></b>"
)
ONTOLOGY = {"concepts": [], "relations": [{"pid": "P1", "label": "r"}]}
NAMED = {  # what the settings name
    "train.json": json.dumps([KNOWN]),
    "na.json": json.dumps({"a": 0.2, "b": 0.9}),
    "same.tsv": "Q1\tQ70\n",
    "groups.json": json.dumps({"MLA": ["M", "L"], "rest": ["A"]}),
    "costs.tsv": "L\tM\t5\n",
    "ontology.json": json.dumps(ONTOLOGY),
    "schema.json": json.dumps({"type": "object", "properties": {"total": {"type": "string"}}}),
}


class Files(NamedTuple):
    """Both sides as files: their names, and their contents (records are written in the format)."""

    task: str
    name: str = "jsonl"
    gold: str = ""
    pred: str = ""


TREC = Files("retrieval", "trec")
HIPE_LINKS = Files("linking", "tsv", HIPE, HIPE.replace("Q70|Q11", "Q11"))
IOB = Files("extraction", "iob2", "Bern\tB-loc\nund\tO\nBasel\tI-loc\n", "Bern\tB-loc\nund\tO\nBasel\tB-loc\n")
QUESTIONS = {
    "hotpotqa": (json.dumps([HOTPOT]), json.dumps({"answer": {"a": "1784"}, "sp": {"a": [["T", 1]]}})),
    "musique": (json.dumps(MUSIQUE), json.dumps(MUSIQUE_PRED)),
    "triviaqa": (json.dumps(TRIVIA), json.dumps({"a": "in 1784"})),
    "nq_open": (json.dumps({"question": "a", "answer": ["1784"]}), json.dumps({"question": "a", "prediction": "1784"})),
    "drop": (json.dumps(DROP), json.dumps({"a": "1784"})),
    "quoref": (json.dumps({"a": ["1784"]}), json.dumps({"a": ["1784", "x"]})),
    "kilt": (json.dumps(KILT), json.dumps({"id": "a", "output": [{"answer": "1784", "provenance": []}]})),
    "docvqa": (
        json.dumps({"data": [{"questionId": 1, "question": "When?", "answers": ["1784"]}]}),
        json.dumps([{"questionId": 1, "answer": "1785"}]),
    ),
    **dict.fromkeys(("squad", "squad2"), (json.dumps(SQUAD), json.dumps({"a": "1800", "b": "Ann"}))),
}
OFFICIAL = {
    **{name: Files("answering", "json", *sides) for name, sides in QUESTIONS.items()},
    "hipe": HIPE_LINKS,
    "hipe2020": HIPE_LINKS,
    "conll": Files("linking", "txt", COREF.format("(1)"), COREF.format("(2)")),
    "tac": Files("linking", "txt", "a\t0\t4\tQ1\t1.0\tPER\n", "a\t0\t4\tQ2\t1.0\tPER\n"),
    "webnlg": Files(
        "triples", "xml", WEBNLG.format(set="modified", t="m", o="b c"), WEBNLG.format(set="generated", t="g", o="b")
    ),
    "bfcl": Files(
        "trajectories", "jsonl", json.dumps(AREA_GOLD), json.dumps({"id": "a", "calls": [{"area": {"base": 10}}]})
    ),
    "agentevals": Files(
        "trajectories",
        "jsonl",
        json.dumps({"id": "a", "calls": [{"name": "area", "args": {"base": 10}}]}),
        json.dumps({"id": "a", "calls": [{"name": "area", "args": {"base": 9}}]}),
    ),
    "docred": Files("triples", "json", json.dumps([DOCUMENT]), json.dumps([FACT])),
    "carb": Files("triples", "txt", "Ann wrote Emma\twrote\tAnn\tEmma\n", "Ann wrote Emma\t0.5\twrote\tAnn\n"),
    "text2kgbench": Files(
        "triples",
        "jsonl",
        json.dumps({"id": "1", "sent": "a b", "triples": [{"sub": "a", "rel": "r", "obj": "b"}]}),
        json.dumps({"id": "1", "response": "r(a,c)"}),
    ),
}
FORMATS = {
    "jsonl": [Files(task) for task in LINES],
    "iob2": [IOB],
    "conll": [IOB],
    "hipe": [HIPE_LINKS, HIPE_LINKS._replace(task="extraction")],
    "trec": [TREC],
    **{name: [Files(task, name) for task in ("classification", "answering")] for name in ("csv", "tsv")},
    "json": [Files(task, "json", *map(json.dumps, sides)) for task, sides in LINES.items() if task != "extraction"],
    "label-studio": [Files("extraction", "json"), Files("classification", "json")],
    "coref": [OFFICIAL["conll"]],
    "neleval": [OFFICIAL["tac"]],
    **{name: [files] for name, files in OFFICIAL.items() if name in formats.names() and name != "conll"},
}
FOLDERS = {
    "brat",
    "kit",
    "run",
    "review",
    "parquet",
    "traces",
}  # no files of text, or those of other tools or libraries
PROBABLE = Files(
    "classification",
    gold='{"id": "a", "label": "M"}\n{"id": "b", "label": "L"}\n',
    pred="".join(
        json.dumps({"id": name, "label": "M", "probabilities": {"M": p, "L": 1 - p}}) + "\n"
        for name, p in (("a", 0.75), ("b", 0.5))
    ),
)
SET = {
    "labels=M,L,A": Files("classification"),
    "weight=meta.n": Files("classification"),
    "costs=costs.tsv": Files("classification"),
    "hierarchy=groups.json": Files("classification"),
    "positive=M": PROBABLE,
    "bounds=word": Files("extraction"),
    "malformed=strict": IOB,
    "scheme=IOB1": IOB,
    "equivalent=same.tsv": Files("linking"),
    "adjacent=none": HIPE_LINKS,
    "ties=stable": Files("retrieval"),
    "missing=skip": Files("retrieval"),
    "na_probs=na.json": OFFICIAL["squad"]._replace(pred=json.dumps({"a": "1800", "b": "Ann"})),
    "ontology=ontology.json": Files("triples"),
    "train=train.json": OFFICIAL["docred"],
    "skip_bad=1": Files("classification", "jsonl", '{"id": "a", "label": "M"}\n{\n', '{"id": "a", "label": "M"}\n'),
    "schema=schema.json": Files("records"),
    "compare=total=money": Files("records"),
    "blank=apart": Files("records"),
    "ordered=lines": Files("records"),
    "arguments=superset": Files("trajectories"),
}


def saved(folder: Path, files: Files, form: str = "jsonl") -> tuple[Path, Path]:
    """Both sides as files in the folder."""
    for name, content in NAMED.items():
        (folder / name).write_text(content, encoding="utf-8")
    places = (folder / f"gold.{files.name}", folder / f"pred.{files.name}")
    for place, content in zip(places, (files.gold, files.pred), strict=True):
        place.write_text(content, encoding="utf-8")
    if not files.gold:
        gold, pred = LINES[files.task]
        write(places[0], map(plain, gold), task=files.task, format=form)
        write(places[1], map(plain, pred), task=files.task, format=form, side="pred")
    return places


def plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record whose spans are objects."""
    names = ("start", "end", "type", "text")
    spans = {"entities": [dict(zip(names, span, strict=True)) for span in record.get("entities", ())]}
    return {**record, **spans} if "entities" in record else dict(record)


def values(
    task: str, sides: tuple[Path, Path], words: Sequence[str] = (), **options: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of `goldassay.score`, and those that the command prints."""
    card = goldassay.score(task, *sides, intervals=False, **options)
    call = ["score", task, "--gold", str(sides[0]), "--pred", str(sides[1]), *words, "--no-intervals", "--json"]
    done = CliRunner().invoke(app, call, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return card.values, json.loads(done.stdout)["values"]


def test_the_tables_have_every_protocol_format_and_setting() -> None:
    assert OFFICIAL.keys() == protocols().keys()
    assert FORMATS.keys() | FOLDERS == {*formats.names()}
    assert {text.partition("=")[0] for text in SET} == TASK_SETTINGS.keys() - {"embedder"}  # it needs a model


@pytest.mark.parametrize("alias", [alias for each in protocols().values() for alias in (each.name, *each.aliases)])
def test_protocols(tmp_path: Path, alias: str) -> None:
    name = next(name for name, each in protocols().items() if alias in (name, *each.aliases))
    options: dict[str, Any] = {"ontology": ONTOLOGY} if name == "text2kgbench" else {}
    more = ["--option", f"ontology={tmp_path / 'ontology.json'}"] if options else []
    files = OFFICIAL[name]
    words = ["--protocol", alias.upper(), *more]
    ours, printed = values(files.task, saved(tmp_path, files), words, protocol=alias.upper(), **options)
    assert ours == printed
    assert ours


@pytest.mark.parametrize("name", FORMATS)
def test_formats(tmp_path: Path, name: str) -> None:
    protocol = name if name in ("drop", "quoref") else None  # their answers of several spans have no other measure
    words = ["--format", name, *(["--protocol", name] if protocol else [])]
    for files in FORMATS[name]:
        ours, printed = values(files.task, saved(tmp_path, files, name), words, format=name, protocol=protocol)
        assert ours == printed
        assert len(ours) > 1


@pytest.mark.parametrize("text", SET)
def test_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    files = SET[text]
    sides = saved(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    form = {"train": "docred"}.get(text.partition("=")[0])
    words = ["--option", text, *(["--protocol", form] if form else [])]
    ours, printed = values(files.task, sides, words, **settings([text], files.task), protocol=form)
    assert ours == printed


def test_the_training_set_is_used(tmp_path: Path) -> None:
    sides = saved(tmp_path, OFFICIAL["docred"])
    card = goldassay.score("triples", *sides, protocol="docred", train=tmp_path / "train.json", intervals=False)
    assert card["RE_ignore_annotated_F1"] == 0.0  # the one right fact is in the training set
    assert "(train=train.json, " in card.conventions["RE_ignore_annotated_F1"]


def test_predictions_of_a_protocol_beside_records(tmp_path: Path) -> None:
    _, pred = saved(tmp_path, OFFICIAL["hotpotqa"])
    gold = [{"id": "a", "question": "When?", "answers": ["1784"], "supporting_facts": [["T", 0]]}]
    assert goldassay.score("answering", gold, pred, protocol="hotpotqa", intervals=False)["em"] == 1.0


def test_a_file_of_predictions_is_read_under_its_options(tmp_path: Path) -> None:
    _, pred = saved(tmp_path, IOB._replace(pred="Bern\tI-loc\n"))
    gold = [{"id": "1", "text": "Bern", "entities": [{"start": 0, "end": 4, "type": "loc", "text": "Bern"}]}]
    cards = [goldassay.score("extraction", gold, pred, intervals=False, malformed=how) for how in (None, "strict")]
    assert [card["strict_f1"] for card in cards] == [1.0, 0.0]  # an I without a B is no entity in strict reading


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("answering", {"protocol": "squad", "embedder": "auto"}, "the protocol squad has no option 'embedder'"),
        ("triples", {"protocol": "carb", "ontology": ONTOLOGY}, "the protocol carb has no option 'ontology'"),
        ("triples", {"protocol": "docred", "threshold": 0.5}, "the protocol docred has no option 'threshold'"),
        ("linking", {"protocol": "hipe", "train": "x"}, "train says how a file is read, and both sides are records"),
        ("linking", {"protocol": "hipe", "adjacent": "none"}, "adjacent says how a file is read"),
        ("linking", {"format": "hipe"}, "format says how a file is read, and both sides are records"),
    ],
)
def test_an_option_that_a_protocol_does_not_use_is_an_error(task: str, options: dict[str, Any], message: str) -> None:
    gold, pred = LINES[task]
    with pytest.raises(GoldassayError, match=message):
        goldassay.score(task, gold, pred, **options)


def test_neighbouring_links_are_the_protocols_to_end(tmp_path: Path) -> None:
    sides = saved(tmp_path, HIPE_LINKS)
    with pytest.raises(GoldassayError, match="the protocol hipe2020 says itself where neighbouring links end"):
        goldassay.score("linking", *sides, protocol="hipe2020", adjacent="none")
    with pytest.raises(GoldassayError, match="adjacent is nil or none, not 'all'"):
        goldassay.score("linking", *sides, adjacent="all")


def test_options_of_a_format_beside_a_map_are_an_error(tmp_path: Path) -> None:
    sides = saved(tmp_path, Files("classification", "csv", "id,kind\na,M\n", "id,kind\na,M\n"))
    with pytest.raises(GoldassayError, match="a table with `map` has no option 'scheme'"):
        goldassay.score("classification", *sides, map={"label": "kind"}, scheme="IOB1")
