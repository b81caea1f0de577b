"""``squad``: SQuAD 1.1 and 2.0, and predictions as ``{id: answer}``.

For answering, a question without answers is unanswerable; ``na_probs`` names a file ``{id: probability of no answer}``,
whose complement becomes the confidence. For retrieval, a question's own paragraph is the relevant one: paragraphs are
named ``TITLE/NUMBER``, and ``passages`` gives them all.

Source: https://rajpurkar.github.io/SQuAD-explorer/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.files import Wrong, stop
from goldassay.gold.records import Side

TASKS = ("answering", "retrieval")


def read(
    path: str | Path,
    task: str,
    side: Side = "gold",
    *,
    na_probs: str | Path | None = None,
    wrong: Wrong = stop,
) -> list[dict[str, object]]:
    """One record a question.

    Args:
        path: The file.
        task: The task.
        side: ``gold`` or ``pred``.
        na_probs: SQuAD's file of probabilities of no answer, beside predictions.
        wrong: What is done with a fault: ``stop`` raises it, another function gathers it.
    """
    if task not in TASKS:
        raise GoldassayError(f"format squad holds {' and '.join(TASKS)}, not {task}")
    found = files.json_value(path)
    if side == "pred":
        if task == "retrieval":
            raise GoldassayError("format squad holds no retrieved results; give them as trec or jsonl")
        return _predictions(found, path, _absent(na_probs) if na_probs else None, na_probs)
    records = []
    for qa, paragraph, name, title in _questions(found, path, wrong):
        try:
            records.append(_gold(qa, paragraph, name, title, task, path))
        except DataError as error:
            wrong(error, "schema")
    return records


def passages(path: str | Path) -> list[dict[str, object]]:
    """The paragraphs of a file, once each."""
    return [
        {"id": name, "text": paragraph["context"]} for paragraph, name, _ in _paragraphs(files.json_value(path), path)
    ]


def _paragraphs(found: Any, path: str | Path, wrong: Wrong = stop) -> Iterator[tuple[dict[str, Any], str, str]]:
    if not isinstance(found, dict) or not isinstance(found.get("data"), list):
        raise DataError("not SQuAD: an object with 'data' is needed", file=path)
    used: dict[str, int] = {}
    for number, article in enumerate(found["data"]):
        title = str(article.get("title", number)) if isinstance(article, dict) else ""
        if not isinstance(article, dict) or not isinstance(article.get("paragraphs"), list):
            wrong(DataError("an article has 'paragraphs'", file=path, field=f"data[{number}]"), "schema")
            continue
        used[title] = used.get(title, 0) + 1
        label = title if used[title] == 1 else f"{title}#{used[title]}"
        for index, paragraph in enumerate(article["paragraphs"]):
            if not isinstance(paragraph, dict) or not isinstance(paragraph.get("context"), str):
                where = f"data[{number}].paragraphs[{index}]"
                wrong(DataError("a paragraph has a 'context'", file=path, field=where), "schema")
                continue
            yield paragraph, f"{label}/{index}", title


def _questions(found: Any, path: str | Path, wrong: Wrong) -> Iterator[tuple[dict[str, Any], dict[str, Any], str, str]]:
    for paragraph, name, title in _paragraphs(found, path, wrong):
        qas = paragraph.get("qas", [])
        if not isinstance(qas, list):
            wrong(DataError(f"'qas' is a list of questions, not {qas!r:.40}", file=path, field=name), "schema")
            continue
        for qa in qas:
            if not isinstance(qa, dict) or "id" not in qa or not isinstance(qa.get("question"), str):
                wrong(DataError("a question has an 'id' and a 'question'", file=path, field=name), "schema")
                continue
            yield qa, paragraph, name, title


def _gold(
    qa: Mapping[str, object], paragraph: Mapping[str, object], name: str, title: str, task: str, path: str | Path
) -> dict[str, Any]:
    key = str(qa["id"])
    if task == "retrieval":
        return {"id": key, "query": qa["question"], "relevant": {name: 1}}
    answers = qa.get("answers", [])
    if not isinstance(answers, list) or not all(
        isinstance(a, dict) and isinstance(a.get("text"), str) for a in answers
    ):
        raise DataError("answers are a list of objects with a 'text'", file=path, record=key, field="answers")
    meta = {"title": title, **{name: value for name, value in qa.items() if name not in ("id", "question", "answers")}}
    record = {
        "id": key,
        "question": qa["question"],
        "answers": [] if qa.get("is_impossible") else [answer["text"] for answer in answers],
        "context": paragraph["context"],
        "documents": [name],
        "meta": meta,
    }
    if record["answers"] and all(isinstance(answer.get("answer_start"), int) for answer in answers):
        record["answer_starts"] = [answer["answer_start"] for answer in answers]
    return record


def _absent(path: str | Path) -> dict[str, float]:
    """The probabilities of no answer, checked."""
    found = files.json_value(path)
    if not isinstance(found, dict):
        raise DataError("probabilities of no answer are one object {id: number}", file=path)
    for key, value in found.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
            raise DataError(f"a probability lies between 0 and 1, not {value!r}", file=path, record=key)
    return found


def _predictions(
    found: Any, path: str | Path, absent: Mapping[str, float] | None, absent_path: str | Path | None
) -> list[dict[str, Any]]:
    if not isinstance(found, dict) or "data" in found:
        raise DataError("predictions are one object {id: answer}", file=path)
    records = []
    for key, answer in found.items():
        if answer is not None and not isinstance(answer, str):
            raise DataError(f"an answer is text, not {answer!r}", file=path, record=key)
        record: dict[str, Any] = {"id": key, "answer": answer or ""}
        if absent is not None:
            if key not in absent:
                raise DataError("this prediction has no probability of no answer", file=absent_path, record=key)
            record["confidence"] = 1 - absent[key]
        records.append(record)
    return records


def write(path: str | Path, records: Iterable[Mapping[str, Any]], task: str, side: Side = "gold") -> None:
    """Write questions with their paragraphs, or predictions."""
    if task != "answering":
        raise GoldassayError("format squad is written for answering")
    rows = list(records)
    if side == "pred":
        files.save_json(path, {record["id"]: record["answer"] for record in rows})
        return
    articles: list[dict[str, Any]] = []
    for record in rows:
        if "context" not in record:
            raise DataError("squad needs the 'context' of a question; write jsonl", record=record["id"])
        meta = dict(record.get("meta", {}))
        title, name = meta.pop("title", ""), (record.get("documents") or [""])[0]
        place = name.rpartition("/")[0] or title
        if not articles or articles[-1]["place"] != place:
            articles.append({"title": title, "place": place, "paragraphs": []})
        paragraphs = articles[-1]["paragraphs"]
        if not paragraphs or paragraphs[-1]["name"] != name or paragraphs[-1]["context"] != record["context"]:
            paragraphs.append({"context": record["context"], "name": name, "qas": []})
        paragraphs[-1]["qas"].append(
            {"answers": _answers(record), "id": record["id"], "question": record["question"], **meta}
        )
    for article in articles:
        del article["place"]
        for paragraph in article["paragraphs"]:
            del paragraph["name"]
    second = any(not record["answers"] for record in rows)
    files.save_json(path, {"data": articles, "version": "v2.0" if second else "1.1"})


def _answers(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    starts = record.get("answer_starts") or [record["context"].find(text) for text in record["answers"]]
    if len(starts) != len(record["answers"]):
        said = f"{len(starts)} starts for {len(record['answers'])} answers; each answer needs its own"
        raise DataError(said, record=record["id"], field="answer_starts")
    for text, start in zip(record["answers"], starts, strict=True):
        if start < 0:
            raise DataError(f"answer {text!r} does not stand in its context; write jsonl", record=record["id"])
    return [{"answer_start": start, "text": text} for text, start in zip(record["answers"], starts, strict=True)]
