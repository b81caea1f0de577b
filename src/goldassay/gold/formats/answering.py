"""The files of question answering: ``squad`` (1.1 and 2.0), and those of seven benchmarks under their protocols' names.

A **SQuAD** question without answers is unanswerable. Predictions are ``{id: answer}``; the option ``na_probs`` names a
file ``{id: probability of no answer}``, whose complement becomes the confidence. For retrieval, a question's own
paragraph is the relevant one: paragraphs are named ``TITLE/NUMBER``, and `passages` gives them all. A question's
``document`` is its article, if the file has several.

Of **HotpotQA, MuSiQue, TriviaQA, open NQ, DROP, Quoref and KILT**, `GOLD` and `PREDICTED` say how the files are laid
out; a file that is not laid out so is read as what it is. Predictions are ``{id: answer}`` where a layout does not say
otherwise. An answer of several spans is a list, an empty one if supporting facts come without an answer. Of a question
that stands in gold in two versions, one of them unanswerable (MuSiQue), ``answerable`` lists both, and the rest is that
of the answerable one.

Source: https://rajpurkar.github.io/SQuAD-explorer/
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from goldassay import files, jsonl
from goldassay.exceptions import DataError
from goldassay.fields import Fields
from goldassay.gold.formats import QUESTIONS, Format, Row, Source, guess, named
from goldassay.gold.shapes import Record, Side

Items = Iterable[dict[str, Any]]


def _squad(source: Source) -> Iterator[Row]:
    """One record a question."""
    if source.side == "pred":
        yield from _squad_answers(source)
        return
    paragraphs = list(_paragraphs(source))
    several = len({name.rpartition("/")[0] for name, _, _ in paragraphs}) > 1
    for name, title, paragraph in paragraphs:
        about = {"document": name.rpartition("/")[0]} if several else {}
        with source.checking(field=name):
            for question in paragraph.get("qas", []):
                with source.checking(field=name):
                    record = {"id": question["id"]}
                    if source.task == "retrieval":
                        record |= {"query": question["question"], "relevant": {name: 1}}
                    else:
                        record |= _question(question) | {"context": paragraph["context"], "documents": [name]}
                        record["meta"] = {"title": title, **record["meta"]}
                    yield Row(record | about)


def _question(question: Record) -> Fields:
    """The question and its answers with their offsets, if all have one; other fields are ``meta``."""
    golds = [] if question.get("is_impossible") else question.get("answers", [])
    starts = [answer.get("answer_start") for answer in golds]
    others = {key: value for key, value in question.items() if key not in ("id", "question", "answers")}
    answers = [answer["text"] for answer in golds]
    offsets = {"answer_starts": starts} if starts and all(isinstance(start, int) for start in starts) else {}
    return {"question": question["question"], "answers": answers, **offsets, "meta": others}


def passages(path: str | Path) -> list[Fields]:
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
            title = str(article.get("title", number))
            repeats[title] += 1
            label = title if repeats[title] == 1 else f"{title}#{repeats[title]}"
            for index, paragraph in enumerate(article["paragraphs"]):
                with source.checking(field=f"data[{number}].paragraphs[{index}]"):
                    yield f"{label}/{index}", title, paragraph | {"context": paragraph["context"]}


def _squad_answers(source: Source) -> Iterator[Row]:
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
            yield Row(record)


def _write_squad(path: str | Path, records: Iterable[Record], task: str, side: Side) -> None:
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
        title = meta.pop("title", "")
        name = (record.get("documents") or [""])[0]
        paragraphs = articles.setdefault((title, name.rpartition("/")[0]), {})
        paragraphs.setdefault((name, record["context"]), []).append(question | meta)
    data = [
        {"title": title, "paragraphs": [{"context": context, "qas": qas} for (_, context), qas in paragraphs.items()]}
        for (title, _), paragraphs in articles.items()
    ]
    second = any(not record["answers"] for record in several)
    files.save_json(path, {"data": data, "version": "v2.0" if second else "1.1"})


def _hotpotqa(content: Sequence[Record]) -> Items:
    for item in content:
        facts = item["supporting_facts"]
        yield {"id": item["_id"], "question": item["question"], "answers": [item["answer"]], "supporting_facts": facts}


def _musique(content: Sequence[Record]) -> Items:
    versions = defaultdict[Any, list[Any]](list)
    for item in content:
        versions[item["id"]].append(item)
    for name, several in versions.items():
        answerable = [bool(item.get("answerable", True)) for item in several]
        item = _answerable(several, answerable)
        facts = [int(paragraph["idx"]) for paragraph in item["paragraphs"] if paragraph["is_supporting"]]
        about = {"question": item["question"], "answers": [item["answer"], *item.get("answer_aliases", ())]}
        yield {"id": name, **about, "supporting_facts": facts, "answerable": answerable}


def _answerable(versions: Sequence[Record], answerable: Sequence[bool]) -> Record:
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


def _nq_open(content: Sequence[Record]) -> Items:
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
                golds.append(spans or [" ".join(str(date[part]) for part in ("day", "month", "year"))])
                kind = "number" if gold.get("number") else ("date", "span", "spans")[min(len(spans), 2)]
                kinds.append(kind)
            about = {"id": item["query_id"], "document": name, "question": item.get("question", "")}
            yield {**about, "answers": golds, "meta": {"answer_types": kinds}}


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


def _pages(output: Record) -> list[str]:
    """The ids of pages, once each; that of a page without one is empty."""
    return list(dict.fromkeys(str(page.get("wikipedia_id", "")).strip() for page in output.get("provenance", ())))


def _by_id(content: Record) -> Items:
    return [{"id": name, "answer": answer} for name, answer in content.items()]


def _hotpotqa_answers(content: Record) -> Items:
    columns = {"answer": content.get("answer", {}), "supporting_facts": content.get("sp", {})}
    for name in dict.fromkeys([*columns["answer"], *columns["supporting_facts"]]):
        yield {"id": name, "answer": []} | {key: cells[name] for key, cells in columns.items() if name in cells}


def _musique_answers(content: Sequence[Record]) -> Items:
    for item in content:
        facts = [int(index) for index in item["predicted_support_idxs"]]
        about = {"answer": item["predicted_answer"], "supporting_facts": facts}
        yield {"id": item["id"], **about, "answerable": [item.get("predicted_answerable", True)]}


def _nq_open_answers(content: Sequence[Record]) -> Items:
    return _by_id({item["question"]: item["prediction"] for item in content})


def _kilt_answers(content: Sequence[Record]) -> Items:
    for item in content:
        name = str(item["id"]).strip()
        if len(item["output"]) != 1:
            raise DataError(f"a prediction has one output, not {len(item['output'])}", record=name)
        (output,) = item["output"]
        answer = str(output.get("answer", "")).strip()
        yield {"id": name, "answer": answer, "results": [page for page in _pages(output) if page]}


GOLD: dict[str, Callable[[Any], Items]] = {
    "hotpotqa": _hotpotqa,
    "musique": _musique,
    "triviaqa": _triviaqa,
    "nq_open": _nq_open,
    "drop": _drop,
    "quoref": _quoref,
    "kilt": _kilt,
}
PREDICTED: dict[str, Callable[[Any], Items]] = {
    "hotpotqa": _hotpotqa_answers,
    "musique": _musique_answers,
    "nq_open": _nq_open_answers,
    "kilt": _kilt_answers,
}
EACH = ("hotpotqa", "drop")  # whose scripts count every question of an id, with the same answer
LAST = ("triviaqa", "quoref")  # whose scripts count the last question of an id
LINES = ("musique", "nq_open", "kilt")  # one JSON object a line, whatever the file is called


def _questions(source: Source) -> Iterator[Row]:
    """The questions or answers of a benchmark's file; those of a file in another format as that says."""
    suffix = source.path.suffix.lower()
    is_table = suffix in (".csv", ".tsv")
    if source.format == "nq_open" and source.side == "pred" and not source.path.stat().st_size:
        return  # its script takes an empty file for no predictions
    if source.format in LINES or suffix == ".jsonl":
        content: Any = [jsonl.value(line, line=number) for number, line in source.filled_lines()]
    else:
        content = None if is_table else files.json_value(source.path)
    if is_table or _is_other(content, source):
        source.format = guess(source.path, source.task)
        yield from named(source.format).rows(source)
        return
    layout = (GOLD if source.side == "gold" else PREDICTED).get(source.format, _by_id)
    try:
        records = list(layout(content))
        repeated = source.side == "gold" and source.format in (*EACH, *LAST)
        yield from map(Row, _distinct(records, source) if repeated else records)
    except DataError as error:
        raise error.at(file=source.path) from None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        detail = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise DataError(f"not laid out as {source.format} has it: {detail}", file=source.path) from None


def _distinct(records: Items, source: Source) -> list[Fields]:
    """Questions with ids of their own: of an id that repeats the last one, or each by a name of its own."""
    distinct: dict[str, Fields] = {}
    numbers = Counter[str]()
    for record in records:
        name = str(record["id"])
        numbers[name] += 1
        if numbers[name] > 1 and source.format in EACH:
            source.repeats[f"{name}#{numbers[name]}"] = name
            name = f"{name}#{numbers[name]}"
        distinct[name] = record | {"id": name}
    if repeats := numbers.total() - len(numbers):
        counted = "each counts" if source.format in EACH else "the last of each counts"
        source.warnings.append(f"{repeats} questions repeat an id; {counted}, as the official scorer does")
    return list(distinct.values())


def _is_other(content: Any, source: Source) -> bool:
    """Whether a file holds records of ours, or SQuAD's, and not what the layout has."""
    first = content[0] if isinstance(content, list) and content else content
    if not isinstance(first, dict) or "paragraphs" in first:
        return False
    if source.side == "pred":
        return {"id", "answer"} <= first.keys()
    return "answers" in first or "reference" in first or ("data" in first and source.format != "quoref")


def _pair_rows(gold: Source, pred: Source) -> tuple[list[Row], list[Row]]:
    """Gold and predictions; the answers to the versions of a question become one record, as in gold."""
    golds = list(_questions(gold))
    answers = defaultdict[Any, list[Any]](list)
    for row in _questions(pred):
        answers[row.record.get("id")].append(row.record)
    for name, answerable in ((row.record.get("id"), row.record.get("answerable", ())) for row in golds):
        if len(several := answers.get(name, [])) == len(answerable) > 1:
            flags = [flag for record in several for flag in record["answerable"]]
            answers[name] = [{**_answerable(several, answerable), "answerable": flags}]
    return golds, [Row(record) for several in answers.values() for record in several]


FORMATS = {
    "squad": Format(("answering", "retrieval"), _squad, _write_squad, written=("answering",), options=("na_probs",)),
    **{name: Format(("answering",), _questions, pair_rows=_pair_rows) for name in QUESTIONS},
}
