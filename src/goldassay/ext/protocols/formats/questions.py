"""The files of HotpotQA, MuSiQue, TriviaQA, open NQ, DROP, Quoref, KILT and DocVQA.

`GOLD_LAYOUTS` and `PREDICTED_LAYOUTS` say how the files are laid out; a file that is not laid out so is read as what it
is. Predictions are ``{id: answer}`` where a layout does not say otherwise. An answer of several spans is a list, an
empty one if supporting facts come without an answer. Of a question that gold has in two versions, one of them
unanswerable (MuSiQue), ``answerable`` lists both, and the rest is that of the answerable one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from goldassay._support import files, jsonl
from goldassay._support.exceptions import DataError
from goldassay.core.fields import JsonObject, Record
from goldassay.gold.formats import Format, Source, SourceRecord, guess, named

Items = Iterable[dict[str, Any]]


def _hotpotqa(content: Sequence[JsonObject]) -> Items:
    for item in content:
        yield {
            "id": item["_id"],
            "question": item["question"],
            "answers": [item["answer"]],
            "supporting_facts": item["supporting_facts"],
        }


def _musique(content: Sequence[Record]) -> Items:
    versions = defaultdict[Any, list[Any]](list)
    for item in content:
        versions[item["id"]].append(item)
    for name, group in versions.items():
        answerable = [bool(item.get("answerable", True)) for item in group]
        item = _answerable(group, answerable)
        facts = [int(paragraph["idx"]) for paragraph in item["paragraphs"] if paragraph["is_supporting"]]
        about = {"question": item["question"], "answers": [item["answer"], *item.get("answer_aliases", ())]}
        yield {"id": name, **about, "supporting_facts": facts, "answerable": answerable}


def _answerable(versions: Sequence[JsonObject], answerable: Sequence[bool]) -> Record:
    """The version of a question that has an answer."""
    return versions[answerable.index(True) if True in answerable else 0]


def _triviaqa(content: Record) -> Items:
    by_page = content.get("Domain", "Wikipedia") != "Wikipedia"  # there an answer is given for each page
    for item in content["Data"]:
        if content.get("VerifiedEval") and not item["QuestionPartOfVerifiedEval"]:
            continue
        golds = [*item["Answer"]["NormalizedAliases"], *item["Answer"].get("HumanAnswers", ())]
        pages = [*item.get("EntityPages", ()), *item.get("SearchResults", ())] if by_page else [None]
        for page in pages:
            if content.get("VerifiedEval") and page and not page["DocPartOfVerifiedEval"]:
                continue
            name = item["QuestionId"] + (f"--{page['Filename']}" if page else "")
            yield {"id": name, "document": item["QuestionId"], "question": item["Question"], "answers": golds}


def _nq_open(content: Sequence[JsonObject]) -> Items:
    for question, golds in {item["question"]: item["answer"] for item in content}.items():  # the last one counts
        yield {"id": question, "question": question, "answers": golds}


def _drop(content: Record) -> Items:
    for name, passage in content.items():
        for item in passage["qa_pairs"]:
            golds = []
            kinds = []
            for gold in (item["answer"], *(item.get("validated_answers") or ())):  # a number, spans, or a date
                date = gold.get("date", {})
                spans = [str(gold["number"])] if gold.get("number") else list(gold.get("spans") or ())
                golds.append(spans or [" ".join(str(date[unit]) for unit in ("day", "month", "year"))])
                kind = "number" if gold.get("number") else ("date", "span", "spans")[min(len(spans), 2)]
                kinds.append(kind)
            yield {
                "id": item["query_id"],
                "document": name,
                "question": item.get("question", ""),
                "answers": golds,
                "meta": {"answer_types": kinds},
            }


def _quoref(content: Record) -> Items:
    if "data" not in content:  # {id: spans}
        return [{"id": name, "question": "", "answers": [spans]} for name, spans in content.items()]
    return [
        {
            "id": item["id"],
            "question": item["question"],
            "answers": [[answer["text"] for answer in item["answers"]]],
        }
        for article in content["data"]
        for paragraph in article["paragraphs"]
        for item in paragraph["qas"]
    ]


def _kilt(content: Sequence[Record]) -> Items:
    for item in content:
        golds = [text for output in item["output"] if (text := (output.get("answer") or "").strip())]
        record = {"id": str(item["id"]).strip(), "question": item.get("input", ""), "answers": golds}
        yield record | {"provenance": [_pages(output) for output in item["output"] if "provenance" in output]}


def _docvqa(content: Record) -> Items:
    for item in content["data"]:
        yield {"id": item["questionId"], "question": item.get("question", ""), "answers": item["answers"]}


def _pages(output: Record) -> list[str]:
    """The ids of pages, once each; that of a page without one is empty."""
    return list(dict.fromkeys(str(page.get("wikipedia_id", "")).strip() for page in output.get("provenance", ())))


def _by_id(content: Mapping[str, object]) -> Items:
    return [{"id": name, "answer": answer} for name, answer in content.items()]


def _hotpotqa_answers(content: Record) -> Items:
    answers = content.get("answer", {})
    facts = content.get("sp", {})
    for name in {**answers, **facts}:
        about = {"id": name, "answer": answers.get(name, [])}
        yield {**about, "supporting_facts": facts[name]} if name in facts else about


def _musique_answers(content: Sequence[Record]) -> Items:
    for item in content:
        facts = [int(index) for index in item["predicted_support_idxs"]]
        about = {"answer": item["predicted_answer"], "supporting_facts": facts}
        yield {"id": item["id"], **about, "answerable": [item.get("predicted_answerable", True)]}


def _kilt_answers(content: Sequence[Record]) -> Items:
    for item in content:
        name = str(item["id"]).strip()
        if len(item["output"]) != 1:
            raise DataError(f"a prediction has one output, not {len(item['output'])}", record=name)
        (output,) = item["output"]
        answer = str(output.get("answer", "")).strip()
        named = [page for page in output.get("provenance", ()) if "wikipedia_id" in page]
        yield {"id": name, "answer": answer, "results": _pages({"provenance": named})}


GOLD_LAYOUTS: dict[str, Callable[[Any], Items]] = {
    "hotpotqa": _hotpotqa,
    "musique": _musique,
    "triviaqa": _triviaqa,
    "nq_open": _nq_open,
    "drop": _drop,
    "quoref": _quoref,
    "kilt": _kilt,
    "docvqa": _docvqa,
}
PREDICTED_LAYOUTS: dict[str, Callable[[Any], Items]] = {
    "hotpotqa": _hotpotqa_answers,
    "musique": _musique_answers,
    "nq_open": lambda content: _by_id({item["question"]: item["prediction"] for item in content}),
    "kilt": _kilt_answers,
    "docvqa": lambda content: _by_id({item["questionId"]: item["answer"] for item in content}),
}
ALL_COUNT = ("hotpotqa", "drop")  # whose scripts count every question of an id, with the same answer
LAST_COUNTS = ("triviaqa", "quoref")  # whose scripts count the last question of an id
LINES = ("musique", "nq_open", "kilt")  # one JSON object a line, whatever the file is called


def _questions(source: Source) -> Iterator[SourceRecord]:
    """The questions or answers of a benchmark's file; those of a file in another format as that says."""
    suffix = source.path.suffix.lower()
    is_table = suffix in (".csv", ".tsv")
    if source.format == "nq_open" and source.is_without_predictions():
        return
    if source.format in LINES or suffix == ".jsonl":
        content: object = [jsonl.value(line, file=source.path, line=number) for number, line in source.filled_lines()]
    else:
        content = None if is_table else files.json_value(source.path)
    if is_table or _is_other(content, source):
        source.format = guess(source.path, source.task)
        yield from named(source.format).rows(source)
        return
    layout = (GOLD_LAYOUTS if source.side == "gold" else PREDICTED_LAYOUTS).get(source.format, _by_id)
    try:
        records = list(layout(content))
    except DataError as error:
        raise error.at(file=source.path) from None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        detail = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise DataError(f"not laid out as {source.format} has it: {detail}", file=source.path) from None
    if source.side == "gold" and source.format in (*ALL_COUNT, *LAST_COUNTS):
        distinct = {}  # of an id that repeats the last question, or each by a name of its own
        numbers = Counter[str]()
        for record in records:
            name = str(record["id"])
            numbers[name] += 1
            if numbers[name] > 1 and source.format in ALL_COUNT:
                source.repeats[f"{name}#{numbers[name]}"] = name
                name = f"{name}#{numbers[name]}"
            distinct[name] = record | {"id": name}
        if repeats := numbers.total() - len(numbers):
            counted = "each counts" if source.format in ALL_COUNT else "the last of each counts"
            source.warnings.append(f"{repeats} questions repeat an id; {counted}, as the official scorer does")
        records = list(distinct.values())
    yield from map(SourceRecord, records)


def _is_other(content: object, source: Source) -> bool:
    """Whether a file holds records of ours, or SQuAD's, and not what the layout has."""
    first = content[0] if isinstance(content, list) and content else content
    if not isinstance(first, dict) or "paragraphs" in first:
        return False
    if source.side == "pred":
        return {"id", "answer"} <= first.keys()
    return "answers" in first or "reference" in first or ("data" in first and source.format not in ("quoref", "docvqa"))


def _pair_rows(gold: Source, pred: Source) -> tuple[list[SourceRecord], list[SourceRecord]]:
    """Gold and predictions; the answers to the versions of a question become one record, as in gold."""
    golds = list(_questions(gold))
    answers = defaultdict[Any, list[Any]](list)
    for row in _questions(pred):
        answers[str(row.record.get("id"))].append(row.record)
    for name, answerable in ((str(row.record.get("id")), row.record.get("answerable", ())) for row in golds):
        if len(group := answers.get(name, [])) == len(answerable) > 1:
            flags = [flag for record in group for flag in record["answerable"]]
            answers[name] = [{**_answerable(group, answerable), "answerable": flags}]
    return golds, [SourceRecord(record) for group in answers.values() for record in group]


one_file = Format(("answering",), _questions, ignored="answers", ignores_all=True)
"""All but MuSiQue; `_questions` knows by the name of the format how the file is laid out."""
musique = Format(("answering",), _questions, pair_rows=_pair_rows, ignored="answers", ignores_all=True)
