"""What people say of articles: a ground truth of statements, and verdicts on novel triples.

A ground truth has the founding kit's form: a line is ``{id, subject, predicates, object, object_type, importance,
wikidata_property, notes}``; any of its predicates says it, and so does its property where it has one.

Novel triples for people to judge are drawn from a run, kept in the annotations' format, reported with an interval. The
file is the founding kit's: ``{id, domain, article, triple, verdict, evidence, annotator}`` under ``annotations``. An
entry without a verdict waits for one, so that a file half judged is simply gone on with.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.formats import kits
from goldassay.measures.triples import terms
from goldassay.measures.triples.matching import NO_MATCH
from goldassay.measures.triples.tally import VERDICTS, novel_discovery_rate
from goldassay.measures.triples.terms import PROPERTY, NamePairs
from goldassay.text.normal import normal
from goldassay.wikidata.alignment import PropertyAlignmentTable
from goldassay.wikidata.alignment_checks import Problem
from goldassay.wikidata.scoring import NOVEL, verdict_key

TYPES = {"iri": "item", "literal": ""}


@dataclass(frozen=True)
class Truth:
    """The statements as one gold record, and which predicates say them, as the measures of triples take both."""

    record: dict[str, Any]
    alignment: NamePairs
    lines: tuple[dict[str, Any], ...]


def read_truth(path: str | Path) -> Truth:
    """The truth of a file; a predicate that stands for several properties may mean each."""
    lines, triples, pairs = [], [], dict[tuple[str, str], None]()
    for number, found in files.json_lines(path):
        line = _line(found, path, number)
        name = line["wikidata_property"] or line["predicates"][0]
        pairs |= dict.fromkeys((said, name) for said in (*line["predicates"], name))
        subject, value = terms.label(line["subject"]), str(line["object"])
        triple = {"subject": subject.replace("_", " "), "predicate": name}
        kind = TYPES[line["object_type"]]
        triple["object"] = value.replace("_", " ") if kind else value
        triples.append({**triple, "object_type": kind} if kind else triple)
        lines.append(line)
    if not lines:
        raise DataError("there are no statements", file=path)
    record = {"id": Path(path).stem, "triples": triples}
    return Truth(record, tuple(pairs), tuple(lines))


def _line(line: Any, path: str | Path, number: int) -> dict[str, Any]:
    name = line.get("id") if isinstance(line, dict) else None
    if not isinstance(line, dict) or not all(isinstance(line.get(key), str) for key in ("subject", "object")):
        raise DataError("a statement has a subject and an object", file=path, line=number, record=name)
    predicates = line.get("predicates")
    if not isinstance(predicates, list) or not predicates or not all(isinstance(one, str) for one in predicates):
        raise DataError("the predicates are a list of names", file=path, line=number, record=name, field="predicates")
    found = line.setdefault("wikidata_property", None)
    if found is not None and not PROPERTY.fullmatch(str(found)):
        raise DataError(f"not a property id: {found!r}", file=path, line=number, record=name, field="wikidata_property")
    if line.setdefault("object_type", "literal") not in TYPES:
        raise DataError(f"not iri or literal: {line['object_type']!r}", file=path, line=number, field="object_type")
    return dict(line)


def problems(truth: Truth, table: PropertyAlignmentTable) -> list[Problem]:
    """What the table makes of the truth: another property, the other direction, or the same statement twice."""
    return [*_meanings(truth, table), *_repeats(truth)]


def _meanings(truth: Truth, table: PropertyAlignmentTable) -> Iterator[Problem]:
    for line in truth.lines:
        name, where = line["wikidata_property"], str(line.get("id") or "")
        row = table.by_id.get(name or "")
        if row is None:
            continue
        meant = [table.meaning(one, (), line["object"]) for one in line["predicates"]]
        said = " / ".join(line["predicates"])
        if any(name in one.properties for one in meant):
            continue
        if any(name in one.turned for one in meant):
            message = f"{said!r} says {name} ({row.label}) the other way round: {line['object']} is its subject"
            yield Problem("direction", where, message)
        else:
            yield Problem("property", where, f"{said!r} does not mean {name} ({row.label})")


def _repeats(truth: Truth) -> Iterator[Problem]:
    seen: dict[tuple[str, str, str], str] = {}
    for line, triple in zip(truth.lines, truth.record["triples"], strict=True):
        key = (normal(triple["subject"]), triple["predicate"], normal(triple["object"]))
        where = str(line.get("id") or "")
        if key in seen:
            yield Problem("duplicate", where, f"says again what {seen[key]} says")
        seen.setdefault(key, where)


KEYS = {"c": "correct", "i": "incorrect", "u": "uncertain", "w": "in_wikidata"}


class DrawnTriple(TypedDict):
    """A triple to judge, as an entry of an annotations file that has no verdict yet."""

    id: int
    domain: str
    article: str
    triple: list[str]
    confidence: float | None


def drawn(rows: Iterable[Mapping[str, Any]], share: float = 0.1, seed: int = 0) -> list[DrawnTriple]:
    """A random share of the unmatched triples of each domain, at least one of each, as entries without a verdict."""
    if not 0 < share <= 1:
        raise GoldassayError(f"the share of a sample lies in (0, 1], not at {share}")
    domains: dict[str, list[tuple[str, list[str], float | None]]] = {}
    for row in rows:
        for one in row["score"]["triples"] if "score" in row else ():
            if one["kind"] in (NOVEL, NO_MATCH) and not one.get("verdict"):
                said = row["article_title"], one["triple"], one["confidence"]
                domains.setdefault(row["domain"], []).append(said)
    rng = random.Random(seed)
    out: list[DrawnTriple] = []
    for domain, found in sorted(domains.items()):
        take = max(1, round(share * len(found)))
        for index in sorted(rng.sample(range(len(found)), take)):
            article, triple, sure = found[index]
            entry = DrawnTriple(id=len(out) + 1, domain=domain, article=article, triple=triple, confidence=sure)
            out.append(entry)
    return out


def load(path: str | Path) -> list[dict[str, Any]]:
    """The entries of an annotations file, judged or not."""
    entries = kits.load(path, "annotations")[2]
    for number, entry in enumerate(entries):
        where = f"annotations[{number}]"
        triple = entry.get("triple")
        if not isinstance(triple, list) or len(triple) != 3 or not all(isinstance(one, str) for one in triple):
            raise DataError("a triple is a list of three texts", file=path, field=f"{where}.triple")
        if entry.get("verdict") not in (None, *VERDICTS):
            known = ", ".join(VERDICTS)
            raise DataError(
                f"a verdict is one of {known}, not {entry['verdict']!r}", file=path, field=f"{where}.verdict"
            )
    return entries


def save(path: str | Path, entries: Sequence[Mapping[str, object]]) -> None:
    """Write the entries, with true counts before them; what else the file's head says is kept."""
    counts = Counter(str(entry["verdict"]) for entry in entries if entry.get("verdict"))
    head = kits.load(path, "annotations")[1] if Path(path).exists() else {}
    metadata = dict(head.get("metadata") or {})
    metadata |= {"total_annotations": len(entries), **{name: counts[name] for name in VERDICTS}}
    rate = novel_discovery_rate(counts.elements())["novel_discovery_rate"]
    if rate is not None:
        metadata["validated_ndr"] = round(rate, 3)
    kits.save(path, {**head, "metadata": metadata, "annotations": entries})


def verdicts(path: str | Path) -> dict[tuple[str, str, str, str], str]:
    """The verdicts of a file by what they are verdicts on, as the scoring takes them."""
    return {
        verdict_key(str(entry.get("article") or ""), *entry["triple"]): str(entry["verdict"])
        for entry in load(path)
        if entry.get("verdict")
    }


def reported(path: str | Path) -> dict[str, Any]:
    """The rate with its interval, over all and by domain; what is still to judge; what the file says wrongly."""
    entries = load(path)
    judged = [entry for entry in entries if entry.get("verdict")]
    domains = sorted({str(entry.get("domain") or "unknown") for entry in judged})
    whole = novel_discovery_rate(entry["verdict"] for entry in judged)
    declared = kits.load(path, "annotations")[1].get("metadata")
    notes = [
        f"{name}: {declared[name]} declared, {int(whole[name] or 0)} counted"
        for name in VERDICTS
        if isinstance(declared, Mapping) and name in declared and declared[name] != whole[name]
    ]
    return {
        "annotations": len(entries),
        "judged": len(judged),
        **whole,
        "by_domain": {
            name: novel_discovery_rate(
                entry["verdict"] for entry in judged if str(entry.get("domain") or "unknown") == name
            )
            for name in domains
        },
        "notes": notes,
    }
