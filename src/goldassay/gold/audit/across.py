"""Faults that show only across the records and files of a set.

Records that repeat another one by id, by text, or nearly by text (across splits they leak); types and labels that look
like another one, or that occur once where the others occur often; inputs that repeat in gold of your own task;
labels that the card does not name, facts that must exist, one split for one text; and the passage collection: ids used
once, texts that are there, and those of the documents of the same id.

>>> from goldassay.gold.audit.findings import LocatedRecord
>>> labels = ["museum"] * 20 + ["archive"] * 20 + ["Museum"]
>>> records = [{"id": str(n), "label": label} for n, label in enumerate(labels)]
>>> rows = [LocatedRecord("classification", record, "c.jsonl") for record in records]
>>> [finding.message for finding in slips(rows)]
["'Museum' occurs once and looks like 'museum' (20 times); is it the same?"]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from goldassay import workspace
from goldassay.gold import anyfields
from goldassay.gold.audit import card as cards
from goldassay.gold.audit.findings import Finding, LocatedRecord, RowsByTask
from goldassay.gold.records import INPUTS, labels_of
from goldassay.gold.sets import CARD
from goldassay.measure import TASKS
from goldassay.text.similarity import NEAR, distinct, near_pairs

OFTEN = 10  # times as often as a slip is the type that was meant
FEW = 50  # labels of a closed list; what has more is text
SHORT = 40  # characters of a value of a closed list
ABOUT_OTHERS = ("retrieval", "answering")  # tasks whose records are not documents themselves


def documents(rows: RowsByTask) -> Iterator[LocatedRecord]:
    """The records that are documents, of all tasks."""
    return (row for task, of_task in rows.items() if task not in ABOUT_OTHERS for row in of_task)


def duplicates(
    rows: Sequence[LocatedRecord], near: float = NEAR, fields: Sequence[str] | None = None
) -> Iterator[Finding]:
    """Doubles among the records of one task, by id and by the text of their input, or of these fields."""
    names = list((INPUTS[row.task] for row in rows[:1]) if fields is None else fields)
    first: dict[str, LocatedRecord] = {}
    for row in rows:
        other = first.setdefault(str(row.record["id"]), row)
        if other is not row:
            where = other.file if other.line is None else f"line {other.line}"
            yield row.finding("id", f"another record has this id ({where}); each record needs its own", "id")
    unique = list(first.values())
    texts = ["\n".join(str(row.record.get(name) or "") for name in names) for row in unique]
    same = distinct(texts)
    sides: list[list[LocatedRecord]] = []  # for each text its first row on each side of the split
    for head, *others in ([unique[index] for index in members] for members in same):
        by_split = {head.record.get("split"): head}
        for row in others:
            leaked = (other for other in by_split.values() if _leaks(other, row))
            yield _double(next(leaked, head), row, None, names[0])
            by_split.setdefault(row.record.get("split"), row)
        sides.append(list(by_split.values()))
    reported: dict[int, Finding] = {}  # one finding a text: a leak if there is one
    for i, j, score in sorted(near_pairs([texts[members[0]] for members in same], near)):
        if j not in reported or reported[j].kind != "leak":
            apart = next(((a, b) for b in sides[j] for a in sides[i] if _leaks(a, b)), None)
            if apart or j not in reported:
                reported[j] = _double(*(apart or (sides[i][0], sides[j][0])), score, names[0])
    yield from reported.values()


def _leaks(a: LocatedRecord, b: LocatedRecord) -> bool:
    first, second = a.record.get("split"), b.record.get("split")
    return bool(first and second and first != second)


def _double(a: LocatedRecord, b: LocatedRecord, score: float | None, field: str) -> Finding:
    """The finding for two rows with one text (no score), or with nearly one."""
    how = "the same text as" if score is None else f"nearly ({score:.0f} %) the text of"
    if _leaks(a, b):
        splits = f"in {b.record.get('split')} and not in {a.record.get('split')}"
        return b.finding("leak", f"{how} {a.record['id']}, but {splits}; keep both on one side", field)
    label = a.record.get("label")
    if score is None and label != b.record.get("label"):
        return b.finding("conflict", f"the same text as {a.record['id']}, which has the label {label}", "label")
    return b.finding("duplicate" if score is None else "near", f"{how} {a.record['id']}", field)


def slips(rows: Sequence[LocatedRecord]) -> Iterator[Finding]:
    """The probable slips among the types, labels and closed fields of one task's records."""
    counts: dict[str, Counter[str]] = {}
    first: dict[tuple[str, str], LocatedRecord] = {}
    for row in rows:
        for field, value in _closed_fields(row):
            counts.setdefault(field, Counter())[value] += 1
            first.setdefault((field, value), row)
    for field, values in counts.items():
        if len(values) > FEW or values.total() < OFTEN * len(values) / 2:
            continue
        for value, times in sorted(values.items()):
            meant = next((other for other, often in values.most_common() if _slip(value, times, other, often)), None)
            occurs = f"{value!r} occurs {f'{times} times' if times > 1 else 'once'}"
            if meant is not None:
                message = f"{occurs} and looks like {meant!r} ({values[meant]} times); is it the same?"
                yield first[field, value].finding("label", message, field)
            elif times == 1 and field != "triples":  # most predicates are rare
                message = f"{occurs}: a slip, or too few to be shown in train and measured in test"
                yield first[field, value].finding("label", message, field)


def _slip(value: str, times: int, other: str, often: int) -> bool:
    """Whether ``other`` was meant: the same letters and commoner, or much commoner and nearly the same."""
    if value == other or often <= times:
        return False
    return _letters(value) == _letters(other) != "" or (often >= OFTEN * times and alike(value, other))


def alike(a: str, b: str) -> bool:
    """Whether two labels differ by case, space, punctuation, or by one letter or two letters swapped.

    >>> alike("TOP", "TPO"), alike("library", "libary"), alike("GRP.HER.MUS", "GRP.HER.ARC"), alike("M", "A")
    (True, True, False, False)
    """
    from rapidfuzz.distance import OSA

    bare = [_letters(a), _letters(b)]
    if a != b and bare[0] == bare[1]:
        return bool(bare[0])
    if min(map(len, bare)) < 3 or any(map(str.isdigit, bare)):
        return False
    numbered = bare[0].rstrip("0123456789") == bare[1].rstrip("0123456789")  # level1 and level2 are two levels
    return OSA.distance(*bare) == 1 and not numbered


def _letters(word: str) -> str:
    return "".join(char for char in word.casefold() if char.isalnum())


def _closed_fields(row: LocatedRecord) -> Iterator[tuple[str, str]]:
    """The values of a record that come from a closed list, with their field."""
    record: Mapping[str, Any] = row.record
    if row.task == "extraction":
        yield from (("entities", span["type"]) for span in record["entities"])
    elif row.task == "classification":
        yield from ((name.partition("[")[0], label) for name, label in labels_of(record) if name[0] == "l")
    elif row.task == "triples":
        yield from (("triples", triple["predicate"]) for triple in record["triples"])
    elif row.task not in TASKS:
        yield from ((k, value) for k, value in record.items() if isinstance(value, str) and 0 < len(value) <= SHORT)


def own_task(rows: Sequence[LocatedRecord], near: float) -> Iterator[Finding]:
    """Doubles and missing fields among the records of your own task.

    >>> records = [{"id": "1", "text": "x", "year": 1784}, {"id": "1"}]
    >>> [f.message for f in own_task([LocatedRecord("decades", record, "d.jsonl") for record in records], 90.0)]
    ['another record has this id (d.jsonl); each record needs its own', 'text is missing', 'year is missing']
    """
    if not rows:
        return
    kinds = anyfields.fields(row.record for row in rows)
    inputs = [name for name in workspace.inputs(rows[0].task) or [] if name in kinds]
    yield from duplicates(rows, near, inputs or [name for name, kind in kinds.items() if kind == "str"])
    missing = Counter(name for row in rows for name in kinds if row.record.get(name) in (None, ""))
    for row in rows:
        for name in kinds:
            if row.record.get(name) in (None, "") and missing[name] < len(rows):
                yield row.finding("schema", f"{name} is missing", name)


def across_tasks(card: Mapping[str, object], rows: RowsByTask, passages: Mapping[str, str] | None) -> Iterator[Finding]:
    """Faults that show when the tasks of a set are compared with each other, with the card and with the passages."""
    for task, of_task in rows.items():
        allowed = cards.allowed(card, task)
        for row in of_task if allowed is not None else ():
            for field, value in _labels(task, row.record):
                if value not in (allowed or ()):
                    yield row.finding("label", f"{value!r} is not among those that the card names", field)
    yield from _languages(cards.languages(card), rows)
    yield from _same_documents(rows)
    texts = {
        str(row.record["id"]): row.record["text"]
        for row in documents(rows)
        if row.task in TASKS and row.record.get("text")
    }
    for row in rows.get("answering", ()):
        yield from _facts(row, {**(passages or {}), **texts})
    for row in rows.get("retrieval", ()) if passages is not None else ():
        for key in row.record["relevant"]:
            if key not in (passages or ()):
                yield row.finding("reference", f"no passage {key!r} in the collection", "relevant")


def _labels(task: str, record: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """The types, labels and grades of a record, each with its field."""
    if task == "extraction":
        return [(f"entities[{index}].type", span["type"]) for index, span in enumerate(record["entities"])]
    if task == "classification":
        return labels_of(record)
    if task == "answering" and record.get("answer_type"):
        return [("answer_type", record["answer_type"])]
    if task == "retrieval" and isinstance(record["relevant"], Mapping):
        return [(f"relevant.{key}", f"{grade:g}") for key, grade in record["relevant"].items()]
    return []


def _languages(declared: list[str], rows: RowsByTask) -> Iterator[Finding]:
    used = {row.record.get("language") for of_task in rows.values() for row in of_task}
    if not declared:
        return
    for row in (row for of_task in rows.values() for row in of_task):
        language = row.record.get("language")
        if language and language not in declared:
            message = f"{language!r} is not declared; the card has {', '.join(declared)}"
            yield row.finding("language", message, "language")
    for language in declared if used - {None} else ():
        if language not in used:
            message = f"{language!r} is declared, and no record has it"
            yield Finding("language", message, CARD, field="languages")


def _same_documents(rows: RowsByTask) -> Iterator[Finding]:
    """One document in several tasks has one text, one language and one split."""
    first: dict[str, LocatedRecord] = {}
    for task, of_task in rows.items():
        # If an id is used twice, which `duplicates` reports, the first record is the document.
        by_id = {str(row.record["id"]): row for row in reversed(of_task)}
        for key, row in by_id.items() if task not in ABOUT_OTHERS else ():
            other = first.setdefault(key, row)
            for field, kind in (("text", "conflict"), ("language", "conflict"), ("split", "leak")):
                expected, actual = other.record.get(field), row.record.get(field)
                if expected and actual and expected != actual:
                    what = "another text" if field == "text" else f"{field} {actual}, and {expected}"
                    yield row.finding(kind, f"this document has {what} in {other.task}", field)


def _facts(row: LocatedRecord, texts: Mapping[str, str]) -> Iterator[Finding]:
    names = row.record.get("documents") or []
    absent = [key for key in names if key not in texts]
    for key in absent if texts else ():
        yield row.finding("reference", f"no document {key!r} in this set", "documents")
    if not names or absent:
        return
    flat = [_flat(texts[key]) for key in names]
    for index, fact in enumerate(row.record.get("supporting_facts") or ()):
        if isinstance(fact, str) and not any(_flat(fact) in text for text in flat):
            message = f"{fact!r} does not stand in {', '.join(names)}"
            yield row.finding("reference", message, f"supporting_facts[{index}]")


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()


def collection(passages: Sequence[Mapping[str, object]], rows: RowsByTask) -> Iterator[Finding]:
    """Faults of a passage collection, beside the tasks that use it."""
    file = "passages.jsonl"
    texts: dict[str, LocatedRecord] = {}
    for row in documents(rows):
        if row.record.get("text"):
            texts.setdefault(str(row.record["id"]), row)
    seen: set[str] = set()
    for passage in passages:
        key, text = str(passage["id"]), str(passage["text"])
        if key in seen:
            yield Finding("id", "another passage has this id; each needs its own", file, record=key, field="id")
        seen.add(key)
        if not text.strip():
            yield Finding("text", "the text is empty", file, record=key, field="text")
        elif key in texts and texts[key].record["text"] != text:
            message = f"the document has another text in {texts[key].task}"
            yield Finding("conflict", message, file, record=key, field="text")
