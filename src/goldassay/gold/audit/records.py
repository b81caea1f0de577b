"""The findings of an audit, the records of a file with their places, and the faults of records: of each by itself, and
those that show when the records of a set are compared.

By itself: offsets, repetitions, contradictions, and the form of identifiers (Wikidata, VIAF, ISIL), not their
existence. ISIL is ISO 15511: a country code (or one, three or four letters for what is not a country), a hyphen, and up
to eleven letters, digits, ``:``, ``/`` and ``-``; sixteen characters at most.

Compared: records that repeat another one by id, by text, or nearly by text (across splits they leak), a document that
differs between tasks, references to documents and passages that do not exist, and supporting facts that are not in
their documents.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from goldassay._support import files
from goldassay._support.exceptions import DataError, clipped
from goldassay._support.files import Faults
from goldassay._support.jsonl import JSON
from goldassay.core.fields import Fields, JsonObject, Record
from goldassay.core.shape import input_text
from goldassay.gold import reading
from goldassay.gold.records import INPUT_FIELDS, SPANS, folded_answers, grades, nearest, span_fault
from goldassay.gold.sets import CARD
from goldassay.results.view import Sentence, Table, TableRow, View
from goldassay.text.near import distinct, near_pairs
from goldassay.text.normal import plain

ABOUT_OTHERS = ("retrieval", "answering", "trajectories")  # tasks whose records are not documents themselves
TABLES: dict[str, Fields] = files.resource("audit.json")
FINDING_KINDS: dict[str, str] = TABLES["kinds"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, its place, and how to repair it (``fix``: the new values of the field); ``records`` may have it."""

    kind: str
    message: str
    file: str
    line: int | None = None
    record: str | None = None
    field: str | None = None
    fix: Mapping[str, object] | None = None
    records: int = 1

    @property
    def place(self) -> str:
        """File, line, record and field."""
        file = self.file if self.line is None else f"{self.file}:{self.line}"
        return " ".join(item for item in (file, self.record, self.field) if item)


@dataclass(frozen=True, slots=True)
class GoldAudit:
    """The findings of an audit; ``records`` counts the records of each task (or kit file), ``figures`` what follows."""

    name: str
    findings: Sequence[Finding]
    records: Mapping[str, int]
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Whether there are no findings."""
        return not self.findings

    @property
    def kinds(self) -> dict[str, int]:
        """How many findings of each kind."""
        return dict(Counter(finding.kind for finding in self.findings))

    def view(self) -> View:
        """How many findings there are of each kind, and the first of them."""
        counts = ", ".join(f"{name} {count:,}" for name, count in self.records.items())
        if self.clean:
            return [Sentence(f"{self.name}: no problems ({counts or 'no records'})")]
        fixable = any(finding.fix for finding in self.findings)
        findings: list[TableRow] = []
        for finding in self.findings:
            fix = "{start}:{end}".format(**finding.fix) if finding.fix else ""
            cells = [finding.kind, finding.place, finding.message, fix]
            findings.append(cells if fixable else cells[:-1])
        columns = ["kind", "where", "what", *(["fix"] if fixable else [])]
        title = f"{self.name}: {len(findings)} finding{'s' if len(findings) != 1 else ''} ({counts})"
        by_kind = Counter(finding.kind for finding in self.findings).most_common()
        kinds: list[TableRow] = [[kind, FINDING_KINDS[kind], count] for kind, count in by_kind]
        return [
            Table(title, ["kind", "meaning", "findings"], kinds, left=2),
            Table(None, columns, findings, left=len(columns), most=20),
        ]

    def state(self) -> JsonObject:
        """As JSON."""
        return {**asdict(self), "clean": self.clean, "kinds": self.kinds}


@dataclass(frozen=True, slots=True)
class LocatedRecord:
    """A record that has its task's shape, and its place."""

    task: str
    record: Fields
    file: str
    line: int | None = None

    def finding(self, kind: str, message: str, field: str, fix: Mapping[str, object] | None = None) -> Finding:
        """A fault of this record."""
        return Finding(kind, clipped(message), self.file, self.line, clipped(str(self.record["id"])), field, fix)


RowsByTask = Mapping[str, Sequence[LocatedRecord]]


def unreadable(error: DataError, name: str, kind: str = "unreadable") -> Finding:
    """A reader's error as a finding."""
    record = None if error.record is None else str(error.record)
    return Finding(kind, error.what, name, error.line, record, error.field)


def mapping(value: JSON) -> Record:
    """A value as a mapping; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def differences(declared: JSON, counts: Mapping[str, object], where: str, file: str = CARD) -> Iterator[Finding]:
    """Declared numbers, and tables of numbers, that are not the counted ones."""
    table = mapping(declared)
    names = [name for name, value in counts.items() if isinstance(table.get(name), type(value))]
    expected = _flat({name: table[name] for name in names})
    actual = _flat({name: counts[name] for name in names})
    for path in {**expected, **actual}:
        number = expected.get(path, 0)
        count = actual.get(path, 0)
        if number != count:
            yield Finding("count", f"{number:,} declared, {count:,} counted", file, field=f"{where}.{path}".lstrip("."))


def _flat(table: JsonObject) -> JsonObject:
    """``{"records": 9, "types": {"TOP": 8}}`` as ``{"records": 9, "types.TOP": 8}``."""
    flat: JsonObject = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{key}": number for key, number in value.items()}
        else:
            flat[name] = value
    return flat


MANY = 10  # records with the same fault that nobody mends one by one


def located_records(path: Path, task: str, name: str, **options: Any) -> tuple[list[LocatedRecord], list[Finding]]:
    """The records of a file, each read by itself, so that one fault hides no other, and what cannot be read in it.

    ``name`` is how findings call the file; a file of a folder is called by its place in it. What many records lack
    alike, such as a column of a table, is one finding with their number.
    """
    faults = Faults(math.inf)
    located: list[LocatedRecord] = []

    def shown(file: Path | str | None) -> str:
        if file in (None, path) or not path.is_dir():
            return name
        return (Path(name) / Path(str(file)).relative_to(path)).as_posix()

    try:
        source = reading.source_of(path, task, faults=faults, audit=True, **options)
        located += (LocatedRecord(task, row.record, shown(row.file), row.line) for row in reading.rows(source))
    except DataError as error:
        faults.report(error)
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for fault, kind in zip(faults.errors, faults.kinds, strict=True):
        finding = unreadable(fault, shown(fault.file), kind)
        key = (finding.kind, finding.message, finding.file, str(finding.field))
        groups.setdefault(key, []).append(finding)
    findings: list[Finding] = []
    for alike in groups.values():
        if len(alike) < MANY:
            findings += alike
        else:
            message = f"{alike[0].message} (in {len(alike):,} records, this is the first)"
            findings.append(replace(alike[0], message=message, records=len(alike)))
    return located, findings


def check(row: LocatedRecord) -> Iterator[Finding]:
    """Everything that is wrong with a record by itself."""
    record = row.record
    field = INPUT_FIELDS[row.task]
    if not record.get(field, field).strip():
        yield row.finding("text", "the text is empty", field)
    name = SPANS.get(row.task, "")
    first: dict[str, int] = {}
    sound: list[tuple[int, int]] = []
    for index, span in enumerate(record[name] if name else ()):
        location = f"{name}[{index}]"
        text = record["text"]
        start = span["start"]
        end = span["end"]
        if problem := span_fault(text, span):
            fix = None if span.get("fragments") else _place(text, span.get("text"), start)
            yield row.finding("offset", problem, location, fix)
            continue
        key = repr([span.get(part) for part in ("start", "end", "fragments", "type")])
        if first.setdefault(key, index) != index:
            yield row.finding("repeated", f"the same span as {name}[{first[key]}]", location)
        for a, b in sound:
            if (a < start < b < end or start < a < end < b) and "fragments" not in span:
                message = f"{start}:{end} crosses {a}:{b}; nest them, or end one earlier"
                yield row.finding("crossing", message, location)
        sound.append((start, end))
        words = text[start:end]
        trimmed = words.strip()
        if words != trimmed and "fragments" not in span:
            first_letter = text.find(trimmed, start)
            trimming = {"start": first_letter, "end": first_letter + len(trimmed), "text": trimmed} if trimmed else None
            yield row.finding("edge", f"{words!r} begins or ends with a space", location, trimming)
    if row.task == "linking":
        for index, link in enumerate(record["links"]):
            for base, ids in link["ids"].items():
                for message in filter(None, (malformed(base, identifier) for identifier in ids)):
                    yield row.finding("identifier", message, f"links[{index}].ids.{base}")
    elif row.task == "triples":
        keys = [(repr(triple["subject"]), triple["predicate"], repr(triple["object"])) for triple in record["triples"]]
        for index, statement in enumerate(keys):
            if statement in keys[:index]:
                yield row.finding("repeated", "the same statement as another one here", f"triples[{index}]")
            for role in ("subject", "predicate", "object"):
                if _is_empty(record["triples"][index][role]):
                    yield row.finding("text", f"the {role} is empty", f"triples[{index}].{role}")
    elif row.task == "classification" and record.get("label", "") in (record.get("secondary_labels") or ()):
        yield row.finding("conflict", f"{record['label']!r} is both label and secondary label", "secondary_labels")
    elif row.task == "retrieval" and not any(grade > 0 for grade in grades(record).values()):
        yield row.finding("promise", "no document is relevant to this query", "relevant")
    elif row.task == "answering":
        answers = record["answers"]
        answer_type = record.get("answer_type")
        if answer_type and (answer_type == "unanswerable") == bool(answers):
            no_answer = f"no answer, and yet the type is {answer_type}"
            what = "unanswerable, and yet it has an answer" if answers else no_answer
            yield row.finding("conflict", what, "answers")
        if "" in folded_answers(record):
            yield row.finding("text", "an answer is empty; an unanswerable question has no answers", "answers")
        context = record.get("context")
        starts = record.get("answer_starts")
        if context is None or starts is None:
            return
        for index, (answer, start) in enumerate(zip(answers, starts, strict=False)):
            stands = context[start : start + len(answer)]
            if stands != answer:
                fix = _place(context, answer, start)
                where = f"which is at {fix['start']}" if fix else "which does not occur in it"
                message = f"context[{start}:] is {stands!r}, not {answer!r}, {where}"
                yield row.finding("offset", message, f"answers[{index}]", fix)
        if len(starts) != len(answers):
            message = f"{len(starts)} starts for {len(answers)} answers; each answer needs its own"
            yield row.finding("schema", message, "answer_starts")


def _is_empty(value: JSON) -> bool:
    """Whether a part of a statement says nothing; of a typed value the type alone says nothing."""
    if isinstance(value, Mapping):
        return all(_is_empty(inner) for key, inner in value.items() if key not in ("type", "datatype"))
    return value in (None, []) or not str(value).strip()


def _place(text: str, words: str | None, start: int) -> dict[str, int] | None:
    """Where words stand that are said to begin at ``start``."""
    offset = nearest(text, words or "", min(start, len(text)))
    return None if offset is None else {"start": offset, "end": offset + len(words or "")}


def malformed(base: str, value: str) -> str | None:
    """The fault of an identifier; None where there is none, or where the base is not known here.

    >>> malformed("wikidata", "Q190804"), malformed("isil", "NL-AmRM"), malformed("isil", "OCLC-DLC")
    (None, None, None)
    >>> malformed("wikidata", "190804")
    "a Wikidata item is Q and a number, found '190804'"
    """
    pattern, rule = TABLES["identifiers"].get(base.casefold(), (".*", ""))
    return None if re.fullmatch(pattern, value, re.DOTALL) else f"{rule}, found {value!r}"


def compare(
    rows: RowsByTask, passages: Mapping[str, str] | None, inputs: Mapping[str, Sequence[str]]
) -> Iterator[Finding]:
    """Faults that show when records are compared with each other and with the passages; None if there are none.

    ``inputs`` are the fields of each task whose text says whether two records are near duplicates.

    One document in several tasks has one text, one language and one split. Supporting facts are in the question's
    context or in its documents, but for case and white space.
    """
    for name, of_task in rows.items():
        yield from duplicates(of_task, inputs[name])
    first: dict[str, LocatedRecord] = {}
    for row in documents(rows):
        other = first.setdefault(str(row.record["id"]), row)
        for name in ("text", "language", "split") if row.task != other.task else ():
            expected = other.record.get(name)
            actual = row.record.get(name)
            if expected and actual and expected != actual:
                what = "another text" if name == "text" else f"{name} {actual}, and {expected}"
                kind = "leak" if name == "split" else "conflict"
                yield row.finding(kind, f"this document has {what} in {other.task}", name)
    texts = {name: row.record.get("text") for name, row in first.items()} | dict(passages or {})
    for row in (*rows.get("answering", ()), *rows.get("trajectories", ())):
        names = row.record.get("documents") or ()
        for name in names:
            if texts and name not in texts:
                yield row.finding("reference", f"no document {name!r} in this set", "documents")
        context = row.record.get("context")
        of_documents = [texts.get(name) for name in names]
        if context is None and None in of_documents:  # a document whose text is unknown may have any fact
            continue
        sources = [plain(text) for text in (context, *of_documents) if text is not None]
        for index, fact in enumerate(row.record.get("supporting_facts") or () if sources else ()):
            if isinstance(fact, str) and not any(plain(fact) in source for source in sources):
                message = f"{fact!r} is not in the question's documents"
                yield row.finding("reference", message, f"supporting_facts[{index}]")
    for row in rows.get("retrieval", ()):
        for name in row.record["relevant"]:
            if passages is not None and name not in passages:
                yield row.finding("reference", f"no passage {name!r} in the collection", "relevant")


def documents(rows: RowsByTask) -> Iterator[LocatedRecord]:
    """The documents of each task; if an id is used twice, its first record."""
    for task, of_task in rows.items():
        if task not in ABOUT_OTHERS:
            yield from {str(row.record["id"]): row for row in reversed(of_task)}.values()


def duplicates(rows: Sequence[LocatedRecord], inputs: Sequence[str]) -> Iterator[Finding]:
    """Doubles among the records of one task, by id and by the text of their input."""
    first: dict[str, LocatedRecord] = {}
    for row in rows:
        other = first.setdefault(str(row.record["id"]), row)
        if other is not row:
            where = other.file if other.line is None else f"line {other.line}"
            yield row.finding("id", f"another record has this id ({where}); each record needs its own", "id")
    unique = list(first.values())
    texts = [input_text(row.record, inputs) for row in unique]
    same = distinct(texts)
    heads = [members[0] for members in same]
    exact = ((members[0], other, 100.0) for members in same for other in members[1:])
    nearly = ((heads[i], heads[j], score) for i, j, score in near_pairs([texts[head] for head in heads]))
    field = next(iter(inputs), "id")
    splits = [row.record.get("split") for row in unique]
    doubles: dict[int, Finding] = {}  # one finding a text: a leak if there is one
    for i, j, score in chain(exact, nearly):
        leaks = splits[i] and splits[j] and splits[i] != splits[j]
        if j in doubles and (not leaks or doubles[j].kind == "leak"):
            continue
        row = unique[j]
        other = unique[i]
        same_text = score == 100
        how = "the same text as" if same_text else f"nearly ({score:.0f} %) the text of"
        how = f"{how} {other.record['id']}"
        label = other.record.get("label")
        if leaks:
            message = f"{how}, but in {splits[j]} and not in {splits[i]}; keep both on one side"
            doubles[j] = row.finding("leak", message, field)
        elif same_text and label != row.record.get("label"):
            doubles[j] = row.finding("conflict", f"{how}, which has the label {label}", "label")
        else:
            doubles[j] = row.finding("duplicate" if same_text else "near", how, field)
    yield from doubles.values()
