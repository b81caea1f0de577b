"""What only shows across the records and files of a set.

Records that are another one again, by id, by text, and nearly by text (across splits they leak); types and labels that
look like another one, or that occur once where the others occur often, mostly slips; inputs that repeat in gold of a
task of one's own; labels of the card, facts that must exist, one split for one text; and the passage collection: ids
used once, texts that are there, and those of the documents of the same id.

>>> from goldassay.gold.audit.rows import LocatedRecord
>>> labels = ["museum"] * 20 + ["archive"] * 20 + ["Museum"]
>>> records = [{"id": str(n), "label": label} for n, label in enumerate(labels)]
>>> rows = [LocatedRecord("classification", record, "c.jsonl") for record in records]
>>> [found.message for found in slips(rows)]
["'Museum' occurs once and looks like 'museum' (20 times); is it the same?"]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from goldassay import workspace
from goldassay.gold import anyfields
from goldassay.gold.audit import card as cards
from goldassay.gold.audit.rows import Finding, LocatedRecord
from goldassay.gold.records import INPUTS
from goldassay.measure import TASKS
from goldassay.text.similarity import NEAR, distinct, near_pairs


def duplicates(rows: Sequence[LocatedRecord], near: float = NEAR) -> Iterator[Finding]:
    """Doubles among the records of one task."""
    seen: dict[str, LocatedRecord] = {}
    kept = []
    for row in rows:
        key = str(row.record["id"])
        if key in seen:
            yield row.finding(
                "id", f"another record has this id ({_where(seen[key])}); each record needs its own", "id"
            )
        else:
            seen[key] = row
            kept.append(row)
    texts = [_text(row) for row in kept]
    same = [[kept[index] for index in members] for members in distinct(texts)]
    sides = []
    for first, *others in same:
        known = {first.record.get("split"): first}  # the first row of each side
        for row in others:
            yield _double(next((other for other in known.values() if _leaks(other, row)), first), row, None)
            known.setdefault(row.record.get("split"), row)
        sides.append(list(known.values()))
    told: dict[int, Finding] = {}  # a text is told once, of what it leaks from if there is such a one
    for i, j, score in sorted(near_pairs([_text(members[0]) for members in same], near)):
        if j not in told or told[j].kind != "leak":
            apart = next(((a, b) for b in sides[j] for a in sides[i] if _leaks(a, b)), None)
            if apart or j not in told:
                told[j] = _double(*(apart or (sides[i][0], sides[j][0])), score)
    yield from told.values()


def _leaks(a: LocatedRecord, b: LocatedRecord) -> bool:
    one, two = a.record.get("split"), b.record.get("split")
    return bool(one and two and one != two)


def _double(a: LocatedRecord, b: LocatedRecord, score: float | None) -> Finding:
    """The finding for two rows with one text (no score), or with nearly one."""
    exact = score is None
    how = "the same text as" if score is None else f"nearly ({score:.0f} %) the text of"
    one, two = a.record.get("split"), b.record.get("split")
    if _leaks(a, b):
        message = f"{how} {a.record['id']}, but in {two} and not in {one}; keep both on one side"
        return b.finding("leak", message, INPUTS[b.task])
    label = (a.record.get("label"), b.record.get("label"))
    if exact and label[0] != label[1]:
        return b.finding("conflict", f"the same text as {a.record['id']}, which has the label {label[0]}", "label")
    return b.finding("duplicate" if exact else "near", f"{how} {a.record['id']}", INPUTS[b.task])


def _text(row: LocatedRecord) -> str:
    return str(row.record.get(INPUTS[row.task]) or "")


def _where(row: LocatedRecord) -> str:
    return row.file if row.line is None else f"line {row.line}"


OFTEN = 10  # times as often as a slip is the type that was meant
FEW = 50  # labels of a closed list; what has more is text


def slips(rows: Sequence[LocatedRecord]) -> Iterator[Finding]:
    """The slips among the types, labels and closed fields of one task's records."""
    used: dict[str, Counter[str]] = {}
    first: dict[tuple[str, str], LocatedRecord] = {}
    for row in rows:
        for field, value in _closed_fields(row):
            used.setdefault(field, Counter())[value] += 1
            first.setdefault((field, value), row)
    for field, counts in used.items():
        if len(counts) > FEW or counts.total() < OFTEN * len(counts) / 2:
            continue
        for value, times in sorted(counts.items()):
            like = next((other for other, often in counts.most_common() if _slip(value, times, other, often)), None)
            seen = f"{value!r} occurs {f'{times} times' if times > 1 else 'once'}"
            if like is not None:
                said = f"{seen} and looks like {like!r} ({counts[like]} times); is it the same?"
                yield first[field, value].finding("label", said, field)
            elif times == 1 and field != "triples":  # of predicates most are rare
                said = f"{seen}: a slip, or too few to be shown in train and measured in test"
                yield first[field, value].finding("label", said, field)


def _slip(value: str, times: int, other: str, often: int) -> bool:
    """Whether ``other`` was meant: written the same but for case and signs and commoner, or much commoner and near."""
    if value == other or often <= times:
        return False
    return _bare(value) == _bare(other) != "" or (often >= OFTEN * times and alike(value, other))


def alike(one: str, other: str) -> bool:
    """Whether two labels differ by case, space, punctuation, or by one letter or two letters swapped.

    >>> alike("TOP", "TPO"), alike("library", "libary"), alike("GRP.HER.MUS", "GRP.HER.ARC"), alike("M", "A")
    (True, True, False, False)
    """
    from rapidfuzz.distance import OSA

    bare = [_bare(one), _bare(other)]
    if one != other and bare[0] == bare[1]:
        return bool(bare[0])
    return (
        min(map(len, bare)) >= 3
        and not any(map(str.isdigit, bare))
        and OSA.distance(*bare) == 1
        and not _numbered(*bare)
    )


def _bare(word: str) -> str:
    return "".join(char for char in word.casefold() if char.isalnum())


def _numbered(one: str, other: str) -> bool:
    """Whether two words differ by a digit only: level1 and level2 are two levels."""
    return one.rstrip("0123456789") == other.rstrip("0123456789")


def _closed_fields(row: LocatedRecord) -> Iterator[tuple[str, str]]:
    record: Mapping[str, Any] = row.record
    if row.task == "extraction":
        yield from (("entities", span["type"]) for span in record["entities"])
    elif row.task == "classification":
        yield "label", record["label"]
    elif row.task == "triples":
        yield from (("triples", triple["predicate"]) for triple in record["triples"])
    elif row.task not in TASKS:
        yield from ((name, value) for name, value in record.items() if isinstance(value, str) and 0 < len(value) <= 40)


def own_task(rows: Sequence[LocatedRecord], near: float) -> Iterator[Finding]:
    """The findings of one task's records.

    >>> records = [{"id": "1", "text": "x", "year": 1784}, {"id": "1"}]
    >>> [found.message for found in own_task([LocatedRecord("decades", record, "d.jsonl") for record in records], 90.0)]
    ['another record has this id (d.jsonl); each record needs its own', 'text is missing', 'year is missing']
    """
    if not rows:
        return
    known = anyfields.fields(row.record for row in rows)
    asked = [name for name in workspace.inputs(rows[0].task) or [] if name in known]
    texts = asked or [name for name, kind in known.items() if kind == "str"]
    shadows = [
        replace(
            row,
            task="extraction",
            record={
                "id": row.record["id"],
                "split": row.record.get("split"),
                "text": "\n".join(str(row.record.get(name) or "") for name in texts) or f"without text {number}",
            },
        )
        for number, row in enumerate(rows)
    ]
    for found in duplicates(shadows, near):
        yield replace(found, field=texts[0]) if found.field == "text" and texts else found
    missing = Counter(name for row in rows for name in known if row.record.get(name) in (None, ""))
    for row in rows:
        for name in known:
            if row.record.get(name) in (None, "") and missing[name] < len(rows):
                yield row.finding("schema", f"{name} is missing", name)


RowsByTask = Mapping[str, Sequence[LocatedRecord]]


def across_tasks(card: Mapping[str, object], rows: RowsByTask, passages: Mapping[str, str] | None) -> Iterator[Finding]:
    """The findings across tasks."""
    for task, found in rows.items():
        yield from _labels(cards.allowed(card, task), task, found)
    declared = cards.languages(card)
    if declared:
        yield from _languages(declared, rows)
    yield from _documents(rows)
    texts = {
        str(row.record["id"]): row.record["text"]
        for task in ("extraction", "classification", "linking", "triples")
        for row in rows.get(task, ())
        if row.record.get("text")
    }
    for row in rows.get("answering", ()):
        yield from _facts(row, {**(passages or {}), **texts})
    if passages is not None:
        for row in rows.get("retrieval", ()):
            for key in row.record["relevant"]:
                if key not in passages:
                    yield row.finding("reference", f"no passage {key!r} in the collection", "relevant")


def _labels(allowed: set[str] | None, task: str, rows: Sequence[LocatedRecord]) -> Iterator[Finding]:
    if allowed is None:
        return
    for row in rows:
        for field, value in _named(task, row.record):
            if value not in allowed:
                yield row.finding("label", f"{value!r} is not among those that the card names", field)


def _named(task: str, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if task == "extraction":
        yield from ((f"entities[{index}].type", span["type"]) for index, span in enumerate(record["entities"]))
    elif task == "classification":
        yield "label", record["label"]
        yield from ((f"secondary_labels[{i}]", label) for i, label in enumerate(record.get("secondary_labels") or ()))
    elif task == "answering":
        if record.get("answer_type"):
            yield "answer_type", record["answer_type"]
    elif task == "retrieval" and isinstance(record["relevant"], Mapping):
        yield from ((f"relevant.{key}", f"{grade:g}") for key, grade in record["relevant"].items())


def _languages(declared: list[str], rows: RowsByTask) -> Iterator[Finding]:
    used = set()
    for found in rows.values():
        for row in found:
            language = row.record.get("language")
            used.add(language)
            if language and language not in declared:
                yield row.finding(
                    "language", f"{language!r} is not declared; the card has {', '.join(declared)}", "language"
                )
    if used - {None}:
        for language in declared:
            if language not in used:
                yield Finding(
                    "language", f"{language!r} is declared, and no record has it", "card.yaml", field="languages"
                )


def _documents(rows: RowsByTask) -> Iterator[Finding]:
    """One document in several tasks has one text, one language and one split."""
    first: dict[str, LocatedRecord] = {}
    for task, found in rows.items():
        if task in ("retrieval", "answering"):
            continue
        # Where an id stands twice, which `duplicates` tells, the first record is the document.
        for key, row in {str(row.record["id"]): row for row in reversed(found)}.items():
            other = first.setdefault(key, row)
            if other is row:
                continue
            for field, kind in (("text", "conflict"), ("language", "conflict"), ("split", "leak")):
                one, two = other.record.get(field), row.record.get(field)
                if one and two and one != two:
                    what = "another text" if field == "text" else f"{field} {two}, and {one}"
                    yield row.finding(kind, f"this document has {what} in {other.task}", field)


def _facts(row: LocatedRecord, texts: Mapping[str, str]) -> Iterator[Finding]:
    documents = row.record.get("documents") or []
    known = [key for key in documents if key in texts]
    if texts:
        for key in documents:
            if key not in texts:
                yield row.finding("reference", f"no document {key!r} in this set", "documents")
    if not documents or len(known) < len(documents):
        return
    for index, fact in enumerate(row.record.get("supporting_facts") or ()):
        if not any(_flat(fact) in _flat(texts[key]) for key in known):
            yield row.finding(
                "reference", f"{fact!r} does not stand in {', '.join(documents)}", f"supporting_facts[{index}]"
            )


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()


FILE = "passages.jsonl"


def collection(
    passages: Sequence[Mapping[str, object]], rows: Mapping[str, Sequence[LocatedRecord]]
) -> Iterator[Finding]:
    """What is off in a collection, beside the tasks that use it."""
    texts: dict[str, tuple[str, str]] = {}
    for task in rows:
        if task not in ("retrieval", "answering"):
            for row in rows[task]:
                if row.record.get("text"):
                    texts.setdefault(str(row.record["id"]), (row.record["text"], task))
    seen: set[str] = set()
    for passage in passages:
        key, text = str(passage["id"]), str(passage["text"])
        if key in seen:
            yield Finding("id", "another passage has this id; each needs its own", FILE, record=key, field="id")
        seen.add(key)
        if not text.strip():
            yield Finding("text", "the text is empty", FILE, record=key, field="text")
        elif key in texts and texts[key][0] != text:
            yield Finding(
                "conflict", f"the document has another text in {texts[key][1]}", FILE, record=key, field="text"
            )
