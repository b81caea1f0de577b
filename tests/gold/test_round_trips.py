"""What is written is read back the same: generated records in every format, and the real files byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay._support.exceptions import GoldassayError
from goldassay.gold import convert, read, write

QUICK = drawn(30, suppress_health_check=[HealthCheck.function_scoped_fixture])
WORDS = st.text(st.sampled_from("abéß🏛אc7"), min_size=1, max_size=5)
KINDS = st.sampled_from(["TOP", "GRP.HER.MUS", "TMP"])
TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=30)
IDS = st.lists(st.from_regex(r"[a-z][a-z0-9_-]{0,6}", fullmatch=True), min_size=1, max_size=4, unique=True)
QIDS = st.lists(st.from_regex(r"Q[1-9][0-9]{0,4}", fullmatch=True), max_size=2, unique=True)


@st.composite
def spans(draw: st.DrawFn, *, breaks: bool = True, overlaps: bool = False) -> tuple[str, list[dict[str, Any]]]:
    """A text of words, with spaces and line breaks, and spans of whole words."""
    words = draw(st.lists(WORDS, min_size=1, max_size=8))
    gaps = [draw(st.sampled_from([" ", "\n"] if breaks else [" "])) for _ in words[1:]]
    text, places = "", []
    for word, gap in zip(words, [*gaps, ""], strict=True):
        places.append((len(text), len(text) + len(word)))
        text += word + gap
    drawn, first = [], 0
    while first < len(words):
        size = draw(st.integers(0, 3))
        if size:
            last = min(first + size, len(words))
            if not overlaps and "\n" in text[places[first][0] : places[last - 1][1]]:
                last = first + 1
            start, end = places[first][0], places[last - 1][1]
            drawn.append({"start": start, "end": end, "type": draw(KINDS), "text": text[start:end]})
            first = first + 1 if overlaps else last
        else:
            first += 1
    return text, drawn


@st.composite
def extraction(draw: st.DrawFn, /, **options: Any) -> list[dict[str, Any]]:
    out = []
    for name in draw(IDS):
        text, entities = draw(spans(**options))
        out.append({"id": name, "text": text, "entities": entities})
    return out


@st.composite
def linking(draw: st.DrawFn) -> list[dict[str, Any]]:
    out = []
    for name in draw(IDS):
        text, mentions = draw(spans())
        links = []
        for span in mentions:
            ids = draw(QIDS)
            links.append(
                {key: span[key] for key in ("start", "end", "text", "type")} | {"ids": {"wikidata": ids} if ids else {}}
            )
        out.append({"id": name, "text": text, "links": links})
    return out


def there_and_back(
    file: Path, records: list[dict[str, Any]], task: str, name: str, **options: Any
) -> list[dict[str, Any]]:
    write(file, records, format=name, task=task, **options)
    return read(file, format=name, task=task)


@QUICK
@given(extraction(overlaps=True))
def test_jsonl_keeps_everything(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    records[0] |= {"language": "nl", "split": "dev", "strata": {"tier": 1, "country": "NL"}}
    assert there_and_back(tmp_path / "x.jsonl", records, "extraction", "jsonl") == records


@QUICK
@given(records=extraction())
def test_iob2(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    file = tmp_path / "x.iob2"
    write(file, records, task="extraction")
    for malformed in ("conlleval", "strict"):
        assert plain(read(file, task="extraction", malformed=malformed)) == plain(records)


def plain(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Signs that were cut from words are words of their own in a tokenised text; compare what stands there."""
    return [
        {
            "id": record["id"],
            "text": "".join(record["text"].split()),
            "entities": [("".join(span["text"].split()), span["type"]) for span in record["entities"]],
        }
        for record in records
    ]


@QUICK
@given(extraction())
def test_hipe_keeps_text_and_offsets(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    assert there_and_back(tmp_path / "x.tsv", records, "extraction", "hipe") == records


@QUICK
@given(linking())
def test_hipe_keeps_links(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    write(tmp_path / "x.tsv", records, format="hipe", task="linking")
    bare = [  # under the protocol the first alternative counts
        [(link["start"], link["end"], {base: ids[:1] for base, ids in link["ids"].items()}) for link in record["links"]]
        for record in records
    ]
    read_back = read(tmp_path / "x.tsv", task="linking", protocol="hipe")
    assert [[(link["start"], link["end"], link["ids"]) for link in record["links"]] for record in read_back] == bare


@QUICK
@given(extraction(overlaps=True))
def test_brat_keeps_overlaps(tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]]) -> None:
    folder = tmp_path_factory.mktemp("brat")
    read_back = there_and_back(folder, records, "extraction", "brat")
    assert read_back == sorted(records, key=lambda record: record["id"] + ".ann")


@QUICK
@given(linking())
def test_brat_keeps_links(tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]]) -> None:
    folder = tmp_path_factory.mktemp("brat")
    assert there_and_back(folder, records, "linking", "brat") == sorted(
        records, key=lambda record: record["id"] + ".ann"
    )


@QUICK
@given(st.lists(st.tuples(TEXT, st.sampled_from("GLAM"), st.lists(st.sampled_from("RED"), unique=True)), min_size=1))
@pytest.mark.parametrize("suffix", ["tsv", "csv"])
def test_classification(tmp_path: Path, suffix: str, rows: list[tuple[str, str, list[str]]]) -> None:
    records = [
        {"id": f"d{number}", "text": text.strip(), "label": label, "secondary_labels": others}
        for number, (text, label, others) in enumerate(rows)
    ]
    assert there_and_back(tmp_path / f"x.{suffix}", records, "classification", suffix) == records


@QUICK
@given(IDS, st.dictionaries(st.from_regex(r"[A-Z]+-[0-9]+", fullmatch=True), st.integers(0, 3), min_size=1))
def test_trec_judgements(tmp_path: Path, names: list[str], grades: dict[str, int]) -> None:
    records = [{"id": name, "query": name, "relevant": grades} for name in names]
    assert there_and_back(tmp_path / "x.qrels", records, "retrieval", "trec") == records


@QUICK
@given(IDS, st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_trec_runs_keep_scores_to_the_last_bit(tmp_path: Path, names: list[str], scores: list[float]) -> None:
    results = [{"doc_id": f"d{rank}", "score": score, "source": "bm25"} for rank, score in enumerate(scores)]
    records = [{"id": name, "results": results} for name in names]
    write(tmp_path / "x.run", records, task="retrieval", side="pred")
    assert read(tmp_path / "x.run", task="retrieval", side="pred") == records


def test_squad_files_by_value(own: Path, real_data: Path, tmp_path: Path) -> None:
    real = [file for file in sorted((real_data / "xquad").glob("*.json")) if file.stem in ("xquad.en", "xquad.de")]
    for source in [own / "squad.json", *real]:
        records = read(source, task="answering", format="squad")
        assert len(records) == (1190 if source in real else 2)
        write(tmp_path / source.name, records, format="squad", task="answering")
        written = json.loads((tmp_path / source.name).read_text(encoding="utf-8"))
        assert written == json.loads(source.read_text(encoding="utf-8"))


@pytest.mark.parametrize("side", ["gold", "pred"])
def test_trec_files_byte_for_byte(own: Path, real_data: Path, tmp_path: Path, side: Literal["gold", "pred"]) -> None:
    """White space and ranks aside: a run's ranks are counted anew, its scores are the same numbers."""
    names = ("qrels", "qrels.test") if side == "gold" else ("run", "results.test")
    for source in existing(own / names[0], real_data / "trec" / names[1]):
        records = read(source, format="trec", task="retrieval", side=side)
        write(tmp_path / "x", records, format="trec", task="retrieval", side=side)
        if side == "gold":
            assert (tmp_path / "x").read_bytes() == source.read_bytes()
            continue
        before = [line.split() for line in source.read_text(encoding="utf-8").splitlines()]
        after = [line.split() for line in (tmp_path / "x").read_text(encoding="utf-8").splitlines()]
        assert [(a[0], a[2], float(a[4]), a[5]) for a in before] == [(b[0], b[2], float(b[4]), b[5]) for b in after]


def existing(own: Path, *real: Path) -> list[Path]:
    """The own file, and those real ones that are on this machine."""
    return [own, *(file for file in real if file.is_file())]


def test_convert_says_what_the_new_file_cannot_hold(own: Path, real_data: Path, tmp_path: Path) -> None:
    for source in existing(own / "hipe.tsv", real_data / "hipe2022" / "ajmc-dev-en.tsv"):
        count = {"hipe.tsv": 2, "ajmc-dev-en.tsv": 14}[source.name]
        done = convert(source, tmp_path / f"{count}.jsonl", task="extraction", source_format="hipe")
        assert (done.records, done.lost) == (count, {})
        assert str(done) == f"{count} records, read back the same"
        back = convert(tmp_path / f"{count}.jsonl", tmp_path / f"{count}.iob2", task="extraction")
        assert back.lost["language"] == count
        assert f"language ({count})" in str(back)


def test_hipe_to_jsonl_and_back_is_the_same_text_and_tags(own: Path, real_data: Path, tmp_path: Path) -> None:
    for source in existing(own / "hipe.tsv", real_data / "hipe2022" / "ajmc-dev-fr.tsv"):
        passed, back = tmp_path / f"{source.stem}.jsonl", tmp_path / f"{source.stem}.tsv"
        convert(source, passed, task="extraction")
        convert(passed, back, task="extraction", target_format="hipe")
        assert read(back, task="extraction") == read(source, task="extraction")


def test_linking_keeps_its_tokens_on_the_way(own: Path, real_data: Path, tmp_path: Path) -> None:
    for source in existing(own / "hipe.tsv", real_data / "hipe2022" / "sonar-dev-de.tsv"):
        passed, back = tmp_path / f"{source.stem}.jsonl", tmp_path / f"{source.stem}.tsv"
        assert convert(source, passed, task="linking").lost == {}
        convert(passed, back, task="linking", target_format="hipe")
        assert read(back, task="linking", tokens=True) == read(source, task="linking", tokens=True)


@pytest.mark.parametrize(("form", "task"), [("webnlg", "extraction"), ("trec", "linking"), ("squad", "triples")])
@pytest.mark.extensions
def test_a_format_is_not_written_for_another_task(tmp_path: Path, form: str, task: str) -> None:
    with pytest.raises(GoldassayError, match=f", not {task}"):
        write(tmp_path / "x", [], format=form, task=task)


CONLL = (
    "-DOCSTART- -X- -X- O\r\n\r\nEU NNP I-NP I-ORG\r\nrejects VBZ I-VP O\r\nGerman JJ I-NP I-MISC\r\n"
    "French JJ I-NP B-MISC\r\n\r\nPeter NNP I-NP I-PER\r\n\r\n-DOCSTART- -X- -X- O\r\n\r\nx  y\tz\tI-LOC"
)


def test_a_file_is_not_converted_onto_itself(tmp_path: Path) -> None:
    source = tmp_path / "a.conll"
    source.write_bytes(CONLL.encode())
    with pytest.raises(GoldassayError, match="is the file to read; name another one to write"):
        convert(source, source, task="extraction")


def test_a_table_has_a_column_for_what_a_record_says(tmp_path: Path) -> None:
    record = {"id": "a", "text": "Museum", "label": "M", "secondary_labels": [], "language": "nl", "split": "dev"}
    write(
        tmp_path / "x.tsv",
        [record, {"id": "b", "text": "b", "label": "A", "secondary_labels": []}],
        task="classification",
    )
    assert (tmp_path / "x.tsv").read_text(encoding="utf-8").split("\n")[0].endswith("secondary_types\tlanguage\tsplit")
    assert read(tmp_path / "x.tsv", task="classification")[0] == record
