"""``squad``: SQuAD 1.1 and 2.0, and predictions as ``{id: answer}``.

For answering, a question without answers is unanswerable; the option ``na_probs`` names a file ``{id: probability of no
answer}``, whose complement becomes the confidence. For retrieval, a question's own paragraph is the relevant one:
paragraphs are named ``TITLE/NUMBER``, and ``passages`` gives them all. A question's ``document`` is its article, if the
file has several.

Source: https://rajpurkar.github.io/SQuAD-explorer/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.gold.formats import Row, Source
from goldassay.gold.shapes import Side

TASKS = ("answering", "retrieval")
WRITTEN = ("answering",)
OPTIONS = ("na_probs",)


def rows(source: Source) -> Iterator[Row]:
    """One record a question."""
    if source.side == "pred":
        yield from _predictions(source)
        return
    paragraphs = list(_paragraphs(source))
    several = len({name.rpartition("/")[0] for _, name, _ in paragraphs}) > 1
    for paragraph, name, title in paragraphs:
        about = {"document": name.rpartition("/")[0]} if several else {}
        with source.checking(field=name):
            for question in paragraph.get("qas", []):
                with source.checking(field=name):
                    yield Row(_record(question, paragraph, name, title, source.task) | about)


def passages(path: str | Path) -> list[dict[str, object]]:
    """The paragraphs of a file, once each."""
    source = Source(Path(path), "retrieval", "squad")
    return [{"id": name, "text": paragraph["context"]} for paragraph, name, _ in _paragraphs(source)]


def _paragraphs(source: Source) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Paragraphs with their name (``TITLE/NUMBER``; a title that repeats is numbered) and title."""
    content = files.json_value(source.path)
    if not isinstance(content, dict) or not isinstance(content.get("data"), list):
        raise DataError("not SQuAD: an object with 'data' is needed", file=source.path)
    repeats: Counter[str] = Counter()
    for number, article in enumerate(content["data"]):
        with source.checking(field=f"data[{number}]"):
            title = str(article.get("title", number))
            repeats[title] += 1
            label = title if repeats[title] == 1 else f"{title}#{repeats[title]}"
            for index, paragraph in enumerate(article["paragraphs"]):
                with source.checking(field=f"data[{number}].paragraphs[{index}]"):
                    yield paragraph | {"context": paragraph["context"]}, f"{label}/{index}", title


def _record(
    question: Mapping[str, Any], paragraph: Mapping[str, Any], name: str, title: str, task: str
) -> dict[str, Any]:
    if task == "retrieval":
        return {"id": question["id"], "query": question["question"], "relevant": {name: 1}}
    answers = question.get("answers", [])
    others = {key: value for key, value in question.items() if key not in ("id", "question", "answers")}
    record = {
        "id": question["id"],
        "question": question["question"],
        "answers": [] if question.get("is_impossible") else [answer["text"] for answer in answers],
        "context": paragraph["context"],
        "documents": [name],
        "meta": {"title": title, **others},
    }
    if record["answers"] and all(isinstance(answer.get("answer_start"), int) for answer in answers):
        record["answer_starts"] = [answer["answer_start"] for answer in answers]
    return record


def _predictions(source: Source) -> Iterator[Row]:
    answers = files.json_value(source.path)
    if not isinstance(answers, dict) or "data" in answers:
        raise DataError("predictions are one object {id: answer}", file=source.path)
    file = source.option("na_probs")
    no_answer = None if file is None else files.json_value(file)
    for name, answer in answers.items():
        with source.checking(record=name):
            record = {"id": name, "answer": "" if answer is None else answer}
            if no_answer is not None:
                number = no_answer.get(name)
                if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 <= number <= 1:
                    raise DataError(f"a probability of no answer lies between 0 and 1, not {number!r}", file=file)
                record["confidence"] = 1 - number
            yield Row(record)


def write(path: str | Path, records: Iterable[Mapping[str, Any]], task: str, side: Side = "gold") -> None:
    """Write questions with their paragraphs, or predictions."""
    several = list(records)
    if side == "pred":
        files.save_json(path, {record["id"]: record["answer"] for record in several})
        return
    articles: dict[tuple[str, str], dict[tuple[str, str], list[Any]]] = {}
    for record in several:
        starts = record.get("answer_starts") or [record.get("context", "").find(text) for text in record["answers"]]
        if "context" not in record or -1 in starts or len(starts) != len(record["answers"]):
            raise DataError("squad needs the context with every answer in it; write jsonl", record=record["id"])
        answers = [{"answer_start": start, "text": text} for text, start in zip(record["answers"], starts, strict=True)]
        meta = dict(record.get("meta", {}))
        question = {"answers": answers, "id": record["id"], "question": record["question"]}
        title, name = meta.pop("title", ""), (record.get("documents") or [""])[0]
        paragraphs = articles.setdefault((title, name.rpartition("/")[0]), {})
        paragraphs.setdefault((name, record["context"]), []).append(question | meta)
    data = [
        {"title": title, "paragraphs": [{"context": context, "qas": qas} for (_, context), qas in paragraphs.items()]}
        for (title, _), paragraphs in articles.items()
    ]
    second = any(not record["answers"] for record in several)
    files.save_json(path, {"data": data, "version": "v2.0" if second else "1.1"})
