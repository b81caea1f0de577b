"""The files of SQuAD 1.1 and 2.0: ``squad``.

A question without answers is unanswerable. Predictions are ``{id: answer}``; the option ``na_probs`` names a file
``{id: probability of no answer}``, whose complement becomes the confidence. For retrieval, a question's own paragraph
is the relevant one: paragraphs are named ``TITLE/NUMBER``, and `passages` gives them all. A question's ``document`` is
its article, if the file has several.

Source: https://rajpurkar.github.io/SQuAD-explorer/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from goldassay._support import files
from goldassay._support.exceptions import DataError
from goldassay.core.fields import Fields, JsonObject, Record
from goldassay.gold.formats import Format, Source, SourceRecord
from goldassay.gold.shapes import Side


def _squad(source: Source) -> Iterator[SourceRecord]:
    """One record a question."""
    if source.side == "pred":
        answers = files.json_value(source.path)
        if not isinstance(answers, dict) or "data" in answers:
            raise DataError("predictions are one object {id: answer}", file=source.path)
        file = source.option("na_probs")
        no_answer = files.json_value(file) if file else {}
        for name, answer in answers.items():
            with source.checking(record=name):
                record = {"id": name, "answer": "" if answer is None else answer}
                if file:
                    number = no_answer.get(name)
                    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number <= 1:
                        raise DataError(f"a probability of no answer lies between 0 and 1, not {number!r}", file=file)
                    record |= {"confidence": 1 - number, "meta": {"na_prob": number}}
                yield SourceRecord(record)
        return
    paragraphs = list(_paragraphs(source))
    many = len({name.rpartition("/")[0] for name, _, _ in paragraphs}) > 1
    for name, title, paragraph in paragraphs:
        about = {"document": name.rpartition("/")[0]} if many else {}
        with source.checking(field=name):
            for question in paragraph.get("qas", []):
                with source.checking(field=name):
                    record = {"id": question["id"]}
                    if source.task == "retrieval":
                        record |= {"query": question["question"], "relevant": {name: 1}}
                    else:
                        golds = [] if question.get("is_impossible") else question.get("answers", [])
                        starts = [answer.get("answer_start") for answer in golds]
                        record |= {"question": question["question"], "answers": [answer["text"] for answer in golds]}
                        if starts and all(isinstance(start, int) for start in starts):
                            record["answer_starts"] = starts
                        about_it = ("id", "question", "answers")
                        meta = {key: value for key, value in question.items() if key not in about_it}
                        record["meta"] = {"title": title, **meta}
                        record |= {"context": paragraph["context"], "documents": [name]}
                    yield SourceRecord(record | about)


def passages(path: str | Path) -> list[JsonObject]:
    """The paragraphs of a SQuAD file, once each."""
    source = Source(Path(path), "retrieval", "squad")
    return [{"id": name, "text": paragraph["context"]} for name, _, paragraph in _paragraphs(source)]


def _paragraphs(source: Source) -> Iterator[tuple[str, str, Fields]]:
    """Paragraphs with their name (``TITLE/NUMBER``; a title that repeats is numbered) and title."""
    content = files.json_value(source.path)
    if not isinstance(content, dict) or not isinstance(content.get("data"), list):
        raise DataError("not SQuAD: an object with 'data' is needed", file=source.path)
    repeats: Counter[str] = Counter()
    for number, article in enumerate(content["data"]):
        with source.checking(field=f"data[{number}]"):
            title = str(article.get("title") or number)
            repeats[title] += 1
            label = title if repeats[title] == 1 else f"{title}#{repeats[title]}"
            for index, paragraph in enumerate(article["paragraphs"]):
                with source.checking(field=f"data[{number}].paragraphs[{index}]"):
                    yield f"{label}/{index}", title, paragraph | {"context": paragraph["context"]}


def _write_squad(path: str | Path, records: Iterable[Record], task: str, side: Side) -> None:
    """Write questions with their paragraphs, or predictions."""
    listed = list(records)
    if side == "pred":
        files.save_json(path, {record["id"]: record["answer"] for record in listed})
        return
    articles: dict[tuple[str, str], dict[tuple[str, str], list[object]]] = {}
    for record in listed:
        starts = record.get("answer_starts") or [record.get("context", "").find(text) for text in record["answers"]]
        if "context" not in record or -1 in starts or len(starts) != len(record["answers"]):
            raise DataError("squad needs the context with every answer in it; write jsonl", record=record["id"])
        answers = [{"answer_start": start, "text": text} for text, start in zip(record["answers"], starts, strict=True)]
        meta = dict(record.get("meta", {}))
        question = {"answers": answers, "id": record["id"], "question": record["question"]}
        title = meta.pop("title", "")
        name = (record.get("documents") or [""])[0]
        paragraphs = articles.setdefault((title, name.rpartition("/")[0]), {})
        paragraphs.setdefault((name, record["context"]), []).append(question | meta)
    data = [
        {"title": title, "paragraphs": [{"context": context, "qas": qas} for (_, context), qas in paragraphs.items()]}
        for (title, _), paragraphs in articles.items()
    ]
    second = any(not record["answers"] for record in listed)
    files.save_json(path, {"data": data, "version": "v2.0" if second else "1.1"})


SQUAD_FORMAT = Format(
    ("answering", "retrieval"),
    _squad,
    _write_squad,
    written=("answering",),
    options=("na_probs",),
    ignored="answers",
)
