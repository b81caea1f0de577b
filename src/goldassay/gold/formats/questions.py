"""The files of HotpotQA, MuSiQue, TriviaQA, open NQ, DROP, Quoref and KILT: gold and predictions of question answering.

The format has the protocol's name, which says how the files are laid out (`GOLD`, `PREDICTED`); a file that is not laid
out so is read as what it is. Predictions are ``{id: answer}`` where a layout does not say otherwise. An answer of
several spans is a list, an empty one if supporting facts come without an answer. Of a question that stands in gold in
two versions, one of them unanswerable (MuSiQue), ``answerable`` lists both, and the rest is that of the answerable one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from goldassay import files, jsonl
from goldassay.exceptions import DataError
from goldassay.gold.formats import Row, Source, guess, module

TASKS = ("answering",)
OPTIONS = ()
Item = Mapping[str, Any]
Items = Iterator[dict[str, Any]]


def _hotpotqa(content: Any) -> Items:
    for item in content:
        facts = item["supporting_facts"]
        yield {"id": item["_id"], "question": item["question"], "answers": [item["answer"]], "supporting_facts": facts}


def _musique(content: Any) -> Items:
    versions = defaultdict[Any, list[Any]](list)
    for item in content:
        versions[item["id"]].append(item)
    for name, several in versions.items():
        answerable = [bool(item.get("answerable", True)) for item in several]
        item = _answerable(several, answerable)
        facts = [paragraph["idx"] for paragraph in item["paragraphs"] if paragraph["is_supporting"]]
        about = {"question": item["question"], "answers": [item["answer"], *item.get("answer_aliases", ())]}
        yield {"id": name, **about, "supporting_facts": facts, "answerable": answerable}


def _answerable(versions: Sequence[Any], answerable: Sequence[bool]) -> Any:
    """The version of a question that has an answer."""
    return versions[answerable.index(True) if True in answerable else 0]


def _triviaqa(content: Any) -> Items:
    by_page = content.get("Domain", "Wikipedia") != "Wikipedia"  # there an answer is given for each page
    for item in content["Data"]:
        if content.get("VerifiedEval") and not item["QuestionPartOfVerifiedEval"]:
            continue
        golds = [*item["Answer"]["NormalizedAliases"], *item["Answer"].get("HumanAnswers", ())]
        pages = [*item.get("EntityPages", ()), *item.get("SearchResults", ())] if by_page else [None]
        for page in pages:
            name = item["QuestionId"] + (f"--{page['Filename']}" if page else "")
            yield {"id": name, "document": item["QuestionId"], "question": item["Question"], "answers": golds}


def _nq_open(content: Any) -> Items:
    for question, golds in {item["question"]: item["answer"] for item in content}.items():  # the last one counts
        yield {"id": question, "question": question, "answers": golds}


def _drop(content: Any) -> Items:
    for name, passage in content.items():
        for item in passage["qa_pairs"]:
            golds = [_spans(each) for each in (item["answer"], *(item.get("validated_answers") or ()))]
            yield {"id": item["query_id"], "document": name, "question": item.get("question", ""), "answers": golds}


def _spans(gold: Item) -> list[str]:
    """DROP's answer as spans: a number, spans, or a date."""
    if gold.get("number"):
        return [str(gold["number"])]
    return list(gold.get("spans") or ()) or [" ".join(str(gold["date"][part]) for part in ("day", "month", "year"))]


def _quoref(content: Any) -> Items:
    if "data" not in content:  # {id: spans}
        yield from ({"id": name, "question": "", "answers": [spans]} for name, spans in content.items())
        return
    for article in content["data"]:
        for paragraph in article["paragraphs"]:
            for item in paragraph["qas"]:
                spans = [answer["text"] for answer in item["answers"]]
                yield {"id": item["id"], "question": item["question"], "answers": [spans]}


def _kilt(content: Any) -> Items:
    for item in content:
        golds = [text for output in item["output"] if (text := (output.get("answer") or "").strip())]
        record = {"id": str(item["id"]).strip(), "question": item.get("input", ""), "answers": golds}
        yield record | {"provenance": [_pages(output) for output in item["output"] if "provenance" in output]}


def _pages(output: Item) -> list[str]:
    pages = (page["wikipedia_id"] for page in output.get("provenance", ()) if "wikipedia_id" in page)
    return list(dict.fromkeys(str(page).strip() for page in pages))


GOLD: dict[str, Callable[[Any], Items]] = {
    "hotpotqa": _hotpotqa,
    "musique": _musique,
    "triviaqa": _triviaqa,
    "nq_open": _nq_open,
    "drop": _drop,
    "quoref": _quoref,
    "kilt": _kilt,
}


def _by_id(content: Any) -> Items:
    yield from ({"id": name, "answer": answer} for name, answer in content.items())


def _hotpotqa_answers(content: Any) -> Items:
    columns = {"answer": content.get("answer", {}), "supporting_facts": content.get("sp", {})}
    for name in dict.fromkeys([*columns["answer"], *columns["supporting_facts"]]):
        yield {"id": name, "answer": []} | {key: cells[name] for key, cells in columns.items() if name in cells}


def _musique_answers(content: Any) -> Items:
    names = {"answer": "predicted_answer", "supporting_facts": "predicted_support_idxs"}
    for item in content:
        about = {key: item[name] for key, name in names.items()}
        yield {"id": item["id"], **about, "answerable": [item.get("predicted_answerable", True)]}


def _nq_open_answers(content: Any) -> Items:
    yield from _by_id({item["question"]: item["prediction"] for item in content})


def _kilt_answers(content: Any) -> Items:
    for item in content:
        if len(item["output"]) != 1:
            raise DataError(f"KILT takes one output, not {len(item['output'])}", record=item["id"])
        (output,) = item["output"]
        yield {
            "id": str(item["id"]).strip(),
            "answer": str(output.get("answer", "")).strip(),
            "results": _pages(output),
        }


PREDICTED: dict[str, Callable[[Any], Items]] = {
    "hotpotqa": _hotpotqa_answers,
    "musique": _musique_answers,
    "nq_open": _nq_open_answers,
    "kilt": _kilt_answers,
}
LINES = ("musique", "nq_open", "kilt")  # one JSON object a line, whatever the file is called


def rows(source: Source) -> Iterator[Row]:
    """The questions or answers of a file; those of a file in another format as that says."""
    content = None if source.path.suffix.lower() in (".csv", ".tsv") else _content(source)
    if content is None or _is_other(content, source):
        source.format = guess(source.path, source.task)
        yield from module(source.format).rows(source)
        return
    layout = (GOLD if source.side == "gold" else PREDICTED).get(source.format, _by_id)
    try:
        yield from map(Row, list(layout(content)))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        detail = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise DataError(f"not laid out as {source.format} has it: {detail}", file=source.path) from None


def _content(source: Source) -> Any:
    """What a file holds: one JSON value, or a list of its lines."""
    if source.format not in LINES and source.path.suffix.lower() != ".jsonl":
        return files.json_value(source.path)
    lines = enumerate(files.lines(source.path), start=1)
    return [jsonl.value(line, line=number) for number, line in lines if line.strip()]


def _is_other(content: Any, source: Source) -> bool:
    """Whether a file holds records of ours, or SQuAD's, and not what the layout has."""
    first = content[0] if isinstance(content, list) and content else content
    if not isinstance(first, dict) or "paragraphs" in first:
        return False
    if source.side == "pred":
        return {"id", "answer"} <= first.keys()
    return "answers" in first or "reference" in first or ("data" in first and source.format != "quoref")


def pair_rows(gold: Source, pred: Source) -> tuple[list[Row], list[Row]]:
    """Gold and predictions; the answers to the versions of a question become one record, as in gold."""
    golds, answers = list(rows(gold)), defaultdict[Any, list[Any]](list)
    for row in rows(pred):
        answers[row.record.get("id")].append(row.record)
    for name, answerable in ((row.record.get("id"), row.record.get("answerable", ())) for row in golds):
        if len(several := answers.get(name, [])) == len(answerable) > 1:
            flags = [flag for record in several for flag in record["answerable"]]
            answers[name] = [{**_answerable(several, answerable), "answerable": flags}]
    return golds, [Row(record) for several in answers.values() for record in several]
