"""Agreement between annotators, with bootstrap intervals: on spans by pairwise F1, on values by kappa and alpha.

Values are the label of a document, the identifier of a mention, the grade of a judgement, an answer. Secondary labels
are a set, so they are compared by F1 like spans, if anybody gave one.

Sets are spans, statements and fields: pairwise F1, where one annotator stands for gold. F1 is the same whoever stands
for gold, and it needs no count of what nobody marked, which spans do not have; a kappa over words counts all the words
outside as agreement and looks better than it is (Hripcsak and Rothschild 2005). The kappa is given as ``word_kappa``
because cards promise it, and ``word_alpha`` is Krippendorff's over the words that at least one annotator marked.

>>> one = [{"id": "d", "text": "Museum", "label": "M"}, {"id": "e", "text": "Archive", "label": "A"}]
>>> two = [{"id": "d", "text": "Museum", "label": "M"}, {"id": "e", "text": "Archive", "label": "L"}]
>>> result = agree({"Ada": one, "Bo": two}, "classification")
>>> result.figure("observed").value, result.disagreements[0].values
(0.5, {'Ada': 'A', 'Bo': 'L'})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any, Unpack

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.evidence import row as row_of
from goldassay.core.fields import JsonObject, Record, check_unique, clusters, identity
from goldassay.core.measure import TASKS
from goldassay.core.shape import shape_of_task
from goldassay.core.tally import Counts, Mean, total
from goldassay.gold import records as shaped
from goldassay.gold.anyfields import ABOUT_RECORD
from goldassay.gold.formats import ReadOptions
from goldassay.gold.outputs import as_text, canonical_output
from goldassay.gold.reading import labels_by_annotator, read
from goldassay.measures.extraction import Span, SpanBatch
from goldassay.measures.extraction.records import spans
from goldassay.results.view import Note, Sentence, Table, TableRow, View, bounds, number
from goldassay.statistics import Interval, interval, wilson
from goldassay.statistics.agreement import Coefficient, alpha, cohen_kappa, fleiss_kappa
from goldassay.text.words import places

__all__ = ["Agreement", "Disagreement", "Figure", "agree", "agree_files", "alpha", "cohen_kappa", "fleiss_kappa"]
Records = Sequence[Record]
Compared = list[tuple[Any, Any]]  # a record that annotators have in common, and what is compared of it
SETS = {"extraction": "strict_f1", "triples": "triple_f1", "records": "field_f1", "trajectories": "call_f1"}
"""Tasks whose records hold a set (spans, statements, fields, calls), and the name of F1 between two annotators."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: its name, between whom, for which type (None: all), and how many units were compared.

    ``interval`` is None if the figure is not defined, because nothing was compared or nothing varies.
    """

    name: str
    between: tuple[str, ...]
    type: str | None
    units: int
    interval: Interval | None

    @property
    def value(self) -> float | None:
        """The figure without its interval."""
        return self.interval.value if self.interval else None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A place in a record, and the value that each annotator gave (None: nothing)."""

    record: str
    where: str
    values: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of several annotators on one task."""

    task: str
    annotators: tuple[str, ...]
    records: int
    figures: Sequence[Figure]
    disagreements: Sequence[Disagreement]
    warnings: Sequence[str] = field(default_factory=list)

    def figure(self, name: str, between: Sequence[str] | None = None, type: str | None = None) -> Figure:
        """A figure by its name; among all annotators unless ``between`` names some.

        Raises:
            KeyError: There is no such figure.
        """
        names = set(between or self.annotators)
        for figure in self.figures:
            if (figure.name, figure.type) == (name, type) and set(figure.between) == names:
                return figure
        raise KeyError(name)

    def view(self) -> View:
        """The figures with their intervals, and the disagreements."""
        figures: list[TableRow] = []
        for figure in self.figures:
            between = "all" if len(figure.between) == len(self.annotators) else " – ".join(figure.between)
            value = number(figure.value) + bounds(figure.interval)
            figures.append([figure.name, between, figure.type or "", figure.units, value])
        title = f"{self.task}, {self.records} records, {', '.join(self.annotators)}"
        view: View = [Table(title, ["figure", "between", "type", "units", "value [95 %]"], figures, left=3)]
        for figure in [figure for figure in self.figures if figure.value == 1.0 and figure.name == "observed"][:1]:
            low = wilson(self.records, self.records)[0]
            on = f" on {figure.type}" if figure.type else ""
            agree = f"All {self.records} records agree{on}, so the bootstrap has no width"
            view.append(Sentence(f"{agree}; Wilson's interval is [{low:.4f}, 1]."))
        if any(figure.name == "word_kappa" for figure in self.figures):
            outside = "word_kappa counts every word outside of spans as agreement, so it is too high"
            view.append(Sentence(f"{outside}; use F1."))
        rows: list[TableRow] = []
        for disagreement in self.disagreements:
            values = disagreement.values
            labels = [(values[name] or "–") if name in values else "" for name in self.annotators]
            rows.append([disagreement.record, disagreement.where, *labels])
        columns = ["record", "where", *self.annotators]
        title = f"{len(rows)} disagreements"
        return [*view, Table(title, columns, rows, left=len(columns), most=20), *map(Note, self.warnings)]

    def state(self) -> JsonObject:
        """As JSON."""
        return asdict(self)


def agree(
    records: Mapping[str, Records], task: str, *, level: str | None = None, resamples: int = 2000, seed: int = 0
) -> Agreement:
    """The agreement of annotators.

    A pair is compared on the records that both have, Fleiss' kappa on those that all have, alpha on all that two or
    more have. Intervals resample records, or documents where they share one: the values of one depend on each other.

    Args:
        records: Each annotator's gold records, by name.
        task: The task; of one of your own each field of the answer is compared as labels are, and its program
            (``programs/TASK.py``) says which these are.
        level: Krippendorff's level of values; ordinal for the grades of retrieval, else nominal, if not given.
        resamples: How many resamples the bootstrap draws.
        seed: Seeds the bootstrap.

    Raises:
        GoldassayError: One annotator alone, or a level where it has no meaning.
        DataError: The task does not exist, or the records cannot be compared.
    """
    shape = None if task in TASKS else shape_of_task(task)
    if shape is None:
        shaped.adapter(task)
    if len(records) < 2:
        raise GoldassayError("agreement needs two annotators or more")
    if task in SETS and level not in (None, "nominal"):
        raise GoldassayError(f"a level is for values (classification, linking, retrieval, answering), not for {task}")
    rows, warnings = _shared(records, shape.asked if shape else [shaped.INPUT_FIELDS[task]])
    draws = {"resamples": resamples, "seed": seed}
    study = Study(tuple(records), rows, draws)
    figures = study.figures
    if shape:  # each field of the answer, whose name a figure's type has
        extras = (*ABOUT_RECORD, *shape.asked)
        answers = dict.fromkeys(name for row in rows for record in row for name in record or () if name not in extras)
        if not answers:
            raise DataError(f"no record has an answer of {task}, only {', '.join(shape.asked)}")
        disagreements: list[Disagreement] = []
        for name in shape.scored(answers):
            labelled = [[record and {**record, "label": _label(record.get(name))} for record in row] for row in rows]
            of_field = Study(study.names, labelled, draws)
            of_field.compare_values("classification", level or "nominal")
            for figure in of_field.figures:
                figures.append(replace(figure, type=name if figure.type is None else f"{name}: {figure.type}"))
            disagreements += [replace(item, where=name) for item in of_field.disagreements("classification")]
        return Agreement(task, study.names, len(rows), figures, disagreements, warnings)
    if task == "extraction":
        study.compare_spans()
    elif task in SETS:
        readings = study.read(lambda record: set(statements(record)))
        for pair in combinations(study.names, 2):
            study.add_sets(SETS[task], pair, study.among(readings, pair))
    else:
        study.compare_values(task, level or ("ordinal" if task == "retrieval" else "nominal"))
    return Agreement(task, study.names, len(rows), figures, study.disagreements(task), warnings)


def _label(value: object) -> object:
    """A value of any type as a label."""
    return value if value is None or isinstance(value, (str, bool, int, float)) else as_text(value)


def agree_files(
    paths: Sequence[str | Path],
    task: str,
    *,
    format: str | None = None,
    level: str | None = None,
    seed: int = 0,
    **options: Unpack[ReadOptions],
) -> Agreement:
    """The same from files, one an annotator, named after the file (and its folder, if files have the same name).

    One file alone has the labels of several annotators (records with an ``annotator``, or documents with a column
    ``label_NAME`` for each), or is a labelled draft: its labels are compared with the ``suggestions`` of each system,
    and a warning says how many differ from all of them.

    Args:
        paths: The files.
        task: The task.
        format: The format; guessed if not given.
        level: Krippendorff's level, as in `agree`.
        seed: Seeds the bootstrap.
        **options: How a foreign file is read, as in `goldassay.gold.load`: ``map={"label": "team"}``.

    Raises:
        GoldassayError: Two files have the same name, or agreement cannot be measured.
        DataError: A file cannot be read, or a single one has no suggestions, or one that is not an answer of the task.
    """
    files = [Path(path) for path in paths]
    if len(files) > 1:
        for names in ([file.stem for file in files], [f"{file.parent.name}/{file.stem}" for file in files]):
            if len(set(names)) == len(names):
                read_all = [read(file, task=task, format=format, **options) for file in files]
                return agree(dict(zip(names, read_all, strict=True)), task, level=level, seed=seed)
        raise GoldassayError("two files have the same name; name the annotators by their file or its folder")
    file = files[0]
    if several := _annotators(file, task, format, options):
        return agree(several, task, level=level, seed=seed)
    drafts = [record for record in read(file, task=task, format=format, **options) if record.get("suggestions")]
    if not drafts:
        raise DataError(
            "agreement needs two files or more, or one with columns label_NAME, a column annotator, or suggestions",
            file=file,
        )
    suggested: dict[str, list[JsonObject]] = {}
    unchanged = 0
    for record in drafts:
        label = canonical_output(shaped.as_prediction(record, task), task)
        same = False
        for name, suggestion in record["suggestions"].items():
            answer = {**record, **shaped.as_gold(suggestion, task)}
            checked = shaped.problems(answer, task, extra="ignore") if task in TASKS else answer
            if isinstance(checked, list):
                place = f"suggestions.{name}.{checked[0].field}"
                raise DataError(checked[0].what, file=file, record=record["id"], field=place)
            suggested.setdefault(name, []).append(answer)
            same = same or canonical_output(shaped.as_prediction(answer, task), task) == label
        unchanged += same
    changed = len(drafts) - unchanged
    warning = (
        f"{changed} of {len(drafts)} labels differ from every suggestion ({changed / len(drafts):.0%}). Labels made "
        f"from suggestions favour {', '.join(suggested)}: people overlook errors in what they are shown. Label some "
        "records without suggestions"
    )
    agreement = agree({**suggested, "label": drafts}, task, level=level, seed=seed)
    return replace(agreement, warnings=[*agreement.warnings, warning])


def _annotators(file: Path, task: str, format: str | None, options: ReadOptions) -> dict[str, list[JsonObject]]:
    """The records of each annotator of a file; none if it names no annotators."""
    named: dict[str, list[JsonObject]] = {}
    if task == "classification" and format != "label-studio":  # whose columns are those of its own form
        for row in read(file, "labels", "pred", format=format, unique=False, **options):
            text = {"text": row["text"]} if "text" in row else {}
            if row.get("suggestions") or isinstance(row.get("labels"), list):  # a draft, or the labels of one person
                return {}
            for name, label in labels_by_annotator(row).items():
                if name != "label":
                    named.setdefault(name, []).append({"id": row["id"], **text, "label": str(label)})
    if not named:
        for record in read(file, task=task, format=format, unique=False, **options):
            if name := str(record.get("annotator") or record.get("meta", {}).get("annotator") or ""):
                named.setdefault(name, []).append(record)
    return named


def _shared(records: Mapping[str, Records], inputs: Sequence[str]) -> tuple[list[list[Any]], list[str]]:
    """The records that two annotators or more have, a row each, None if one lacks it; and warnings about the others.

    An annotator who has other ``inputs`` than another annotated something else; one may have none of them.
    """
    for name, rows_of_name in records.items():
        check_unique(rows_of_name, name)
    by_id = [{identity(record, index): record for index, record in enumerate(by_key)} for by_key in records.values()]
    counts = Counter(key for by_key in by_id for key in by_key)
    rows = {key: [by_key.get(key) for by_key in by_id] for key, count in counts.items() if count > 1}
    if not rows:
        hint = '`map={"id": "COLUMN"}` names the column of their ids'
        raise DataError(f"the annotators have no record in common: {', '.join(records)}; {hint}")
    for key, name in product(rows, inputs):
        row = rows[key]
        pairs = zip(records, row, strict=True)
        contents = {annotator: record[name] for annotator, record in pairs if record and name in record}
        first = next(iter(contents), "")
        for annotator, content in contents.items():
            if content != contents[first]:
                raise DataError(f"annotated on another {name} than {first}'s", file=annotator, record=key)
        if contents:  # a file of labels alone is about the text that another file has
            rows[key] = [record and {name: contents[first], **record} for record in row]
    single = len(counts) - len(rows)
    partly = sum(None in row for row in rows.values())
    warnings = []
    if single:
        warnings.append(f"{single} record{'s' if single > 1 else ''} of one annotator alone left out")
    if partly:
        plural = "s" if partly > 1 else ""
        warnings.append(f"{partly} record{plural} not with all annotators: a pair is compared on what both have")
    return list(rows.values()), warnings


@dataclass
class Study:
    """The records of several annotators, a row each (None if one lacks it), and the figures made of them."""

    names: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    draws: Record
    figures: list[Figure] = field(default_factory=list)

    def read(self, reading_of: Callable[[Any], Any]) -> list[list[Any]]:
        """The contents of each record; None where an annotator lacks it."""
        return [[None if record is None else reading_of(record) for record in row] for row in self.rows]

    def among(self, readings: Sequence[Sequence[object]], names: Sequence[str]) -> Compared:
        """The contents of these annotators' records, of the records that all of them have."""
        columns = [self.names.index(name) for name in names]
        rows = ((row, [values[column] for column in columns]) for row, values in zip(self.rows, readings, strict=True))
        return [(row, values) for row, values in rows if None not in values]

    def add(self, name: str, between: Sequence[str], tallies: Compared, units: int, type_: str | None = None) -> None:
        """Add a figure, with a bootstrap interval over records, or over the documents that they name.

        Args:
            name: The figure's name.
            between: The annotators that it is between.
            tallies: The records that are compared, each with its tally.
            units: How many units were compared.
            type_: The type or label that it is of, if it is of one.
        """
        bounds = None
        if tallies:
            records, evidence = zip(*tallies, strict=True)
            together = total(evidence)
            if together.defined is not None if isinstance(together, Coefficient) else together.weight:
                zero = together.from_state({})
                documents = clusters([next(filter(None, row)) for row in records])
                bounds = interval(evidence, zero, clusters=documents, method="bootstrap", **self.draws)
        self.figures.append(Figure(name, tuple(between), type_, units, bounds))

    def add_coefficient(self, name: str, between: Sequence[str], units: Compared, kind: str = "cohen") -> None:
        """Add a coefficient of the units of each record, which are counted unless only one annotator has a value."""
        compared = sum(sum(value is not None for value in unit) > 1 for _, values in units for unit in values)
        self.add(name, between, [(row, Coefficient.of(values, kind)) for row, values in units], compared)

    def add_sets(self, name: str, pair: Sequence[str], sets: Compared) -> None:
        """Add the F1 of two sets a record."""
        tallies = [(row, Counts(len(a & b), len(b - a), len(a - b))) for row, (a, b) in sets]
        self.add(name, pair, tallies, sum(len(a | b) for _, (a, b) in sets))

    def compare_values(self, task: str, level: str) -> None:
        """Observed agreement and kappa for each pair (and each label), Fleiss' kappa, Krippendorff's alpha."""
        readings = self.read(lambda record: _values(task, record))
        secondary = self.read(lambda record: {*(record.get("secondary_labels") or ())})
        for pair in combinations(self.names, 2):
            units = _complete(self.among(readings, pair))
            same = [(row, Mean(float(sum(a == b for a, b in values)), float(len(values)))) for row, values in units]
            self.add("observed", pair, same, sum(len(values) for _, values in units))
            self.add_coefficient("cohen_kappa", pair, units)
            if task == "classification":
                values = {value for _, values in units for unit in values for value in unit}
                for label in sorted(values, key=lambda value: (isinstance(value, str), value)):
                    of_label = [(row, [[value == label for value in unit] for unit in values]) for row, values in units]
                    used = sum(any(unit) for _, values in of_label for unit in values)
                    tallies = [(row, Coefficient.of(values, "cohen")) for row, values in of_label]
                    self.add("cohen_kappa", pair, tallies, used, label)
                sets = self.among(secondary, pair)
                if any(any(values) for _, values in sets):
                    self.add_sets("secondary_f1", pair, sets)
        self.add_coefficient("fleiss_kappa", self.names, _complete(self.among(readings, self.names)), "fleiss")
        every = [(row, _units(values)) for row, values in zip(self.rows, readings, strict=True)]
        self.add_coefficient(f"alpha_{level}", self.names, every, level)

    def compare_spans(self) -> None:
        """Strict and partial F1 for each pair of annotators, in all and for each type; kappa and alpha over words."""
        readings = self.read(lambda record: spans(record["entities"]))
        tags = self.read(_word_types)
        types = sorted({span.type for row in readings for values in row for span in values or ()})
        for pair in combinations(self.names, 2):
            pairs = self.among(readings, pair)
            for match, kind in (("strict", None), ("partial", None), *(("strict", kind) for kind in types)):
                spans_of_side = [
                    [[span for span in values[side] if kind in (None, span.type)] for _, values in pairs]
                    for side in (0, 1)
                ]
                counts = SpanBatch(*spans_of_side).counts(match)
                tallies = [(row, row_of(counts, index)) for index, (row, _) in enumerate(pairs)]
                self.add(f"{match}_f1", pair, tallies, sum(map(max, *(map(len, side) for side in spans_of_side))), kind)
            self.add_coefficient("word_kappa", pair, _complete(self.among(tags, pair)))
        marked = [
            (row, [unit for unit in _units(values) if any(tag not in ("O", None) for tag in unit)])
            for row, values in zip(self.rows, tags, strict=True)
        ]
        self.add_coefficient("word_alpha", self.names, marked, "nominal")

    def disagreements(self, task: str) -> list[Disagreement]:
        """Each place or statement for which the annotators of a record do not all give the same value."""
        result = []
        for row in self.rows:
            by_name = {name: record for name, record in zip(self.names, row, strict=True) if record}
            answers = {name: _answers(task, record) for name, record in by_name.items()}
            where = dict.fromkeys(key for answer in answers.values() for key in answer)
            for key in sorted(where) if task in SETS else where:
                stated = {name: answer.get(key) for name, answer in answers.items()}
                if len(set(stated.values())) > 1:
                    result.append(Disagreement(str(next(iter(by_name.values()))["id"]), key.strip(), stated))
        return result


def _units(row: Sequence[Mapping[object, object] | None]) -> list[list[object]]:
    """The values of all annotators, place by place; None if one has no value there."""
    where = dict.fromkeys(key for values in row for key in values or ())
    return [[values.get(key) if values else None for values in row] for key in where]


def _complete(readings: Compared) -> Compared:
    """The values of all annotators at the places where each has one."""
    return [(row, [unit for unit in _units(values) if None not in unit]) for row, values in readings]


def _values(task: str, record: Record) -> dict[str, Any]:
    """The contents of a record, place by place; of a mention its identifiers in Wikidata, NIL without any."""
    if task == "classification":
        return {"label": record["label"]} if "label" in record else {text: True for _, text in shaped.labels_of(record)}
    if task == "retrieval":
        return shaped.grades(record)
    if task == "answering":
        return {"answer": " | ".join(sorted(shaped.folded_answers(record))) or "unanswerable"}
    links = {}
    for link in record["links"]:
        used = {base: sorted(ids) for base, ids in link["ids"].items() if ids}
        base = "wikidata" if "wikidata" in used else min(used, default="")
        links[f"{link['start']}:{link['end']}"] = f"{base}:{'+'.join(used[base])}" if used else "NIL"
    return links


def _word_types(record: Record) -> dict[int, str]:
    """The type over each word; of nested spans the shortest, ``O`` outside."""
    inner = sorted(spans(record["entities"]), key=lambda span: span.end - span.start)
    words = [Span(start, end, "") for start, end in places(record["text"])]
    types = (next((span.type for span in inner if span.overlaps(word)), "O") for word in words)
    return dict(enumerate(types))


def statements(record: Record) -> list[tuple[str, ...]]:
    """The statements of a record of triples, the leaf fields of a structured one with their values, or the calls.

    Two are the same if they are in all parts but for case and spaces.
    """
    if "record" in record:
        parts: list[tuple[object, ...]] = [*shaped.leaves(record["record"])]
    elif "calls" in record:
        calls = shaped.first_acceptable(record["calls"])
        parts = [(call["name"], as_text(call.get("args") or {})) for call in calls]
    else:
        parts = [(triple["subject"], triple["predicate"], triple["object"]) for triple in record["triples"]]
    return [tuple(" ".join(str(text).split()).casefold() for text in statement) for statement in parts]


def _answers(task: str, record: Record) -> dict[str, str | None]:
    """The contents of a record, place by place or statement by statement, as text."""
    if task == "extraction":
        kinds: dict[str, list[str]] = {}
        for span in spans(record["entities"]):
            key = f"{span.start:>7}:{span.end} {record['text'][span.start : span.end]!r}"
            kinds.setdefault(key, []).append(span.type)
        return {key: ", ".join(sorted(kinds_of_key)) for key, kinds_of_key in kinds.items()}
    if task in SETS:
        return {" · ".join(statement): "stated" for statement in statements(record)}
    answers: dict[str, str | None] = {key: str(value) for key, value in _values(task, record).items()}
    if task == "classification":
        answers["secondary_labels"] = " ".join(sorted({*(record.get("secondary_labels") or ())})) or None
    return answers
