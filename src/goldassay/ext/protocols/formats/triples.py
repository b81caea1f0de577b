"""The files of four benchmarks of triples: ``webnlg``, ``docred``, ``carb``, ``text2kgbench``.

**WebNLG** is XML, gold with ``modifiedtripleset`` and predictions with ``generatedtripleset``. An entry is named by its
category and its ``eid``. Where these repeat, both files must have the same entries in the same order, as the official
script takes for granted. A document type or an entity is refused: the benchmark has neither.

**DocRED** has a list of documents, and predictions are a list of ``{title, h_idx, t_idx, r, evidence}``. A document is
named by its title, an entity by its place in ``vertexSet``. The option ``train`` names a file of documents whose facts
are seen (Ign F1): any name of the one entity occurs there with its relation to one of the other.

**CaRB** has tables, ``sentence predicate arguments…``; predictions, which are what ``carb.py --tabbed`` reads, have a
confidence after the sentence. A sentence is named by its letters and digits alone, so that systems may write brackets
and spaces as they like. A statement's object is all arguments but the first. Gold arguments that contain ``C: `` are
dropped, as ``GoldReader`` does.

**Text2KGBench** has ground truth (``id sent triples``) and model outputs (``id response triples``); its training and
validation sentences state one triple each, in fields of their own, with Wikidata's ids (``sub_label rel_label obj_label
sent sub rel obj``). A repeated id among the outputs is legal there, and its last line counts (one of the published
systems has every id twice); a warning says so. An output without ``triples`` is read from its ``response``, by the
benchmark's own pattern: ``relation(subject,object)``.

Sources: https://github.com/WebNLG/WebNLG-Text-to-triples, https://github.com/thunlp/DocRED (code/evaluation.py),
https://github.com/dair-iitd/CaRB (carb.py, oie_readers), https://github.com/cenguix/Text2KGBench
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from goldassay._support import files, jsonl
from goldassay._support.exceptions import DataError
from goldassay.core.fields import Fields, JsonObject, Record
from goldassay.gold.formats import Format, Source, SourceRecord, first_line

NUMBER = re.compile(r"[+-]?\d*\.?\d+(?:[eE][+-]?\d+)?")
SHORT_FIELDS = {"subject": "sub", "predicate": "rel", "object": "obj"}


def _webnlg(source: Source) -> Iterator[SourceRecord]:
    """One record an entry."""
    content = files.text(source.path)
    group, item = ("modifiedtripleset", "mtriple") if source.side == "gold" else ("generatedtripleset", "gtriple")
    if re.search("<!(DOCTYPE|ENTITY)", content):
        raise DataError("declares a document type or an entity; remove it", file=source.path)
    try:
        entries = list(ElementTree.fromstring(content).iter("entry"))
    except ElementTree.ParseError as error:
        raise DataError(f"not XML: {error}", file=source.path, line=error.position[0]) from None
    if not entries:
        raise DataError("no <entry>: is this a file of WebNLG?", file=source.path)
    names = [f"{entry.get('category', '')}/{entry.get('eid', '')}" for entry in entries]
    source.numbered = len(set(names)) < len(names)
    for number, (name, entry) in enumerate(zip(names, entries, strict=True), start=1):
        record: Fields = {"id": f"{name}#{number}" if source.numbered else name}
        with source.checking(record=record["id"]):
            statements = entry.find(group)
            if statements is None:
                raise DataError(f"no <{group}>, which a file of {source.side} has")
            if source.side == "gold" and (text := entry.findtext("lex")):
                record["text"] = text
            record["triples"] = []
            for statement in statements.iter(item):
                parts = re.split(r"\s\|\s", statement.text or "", maxsplit=2)
                if len(parts) != 3:
                    message = f"a triple is 'subject | predicate | object', not {statement.text or ''!r}"
                    raise DataError(message, field="triples")
                record["triples"].append(dict(zip(SHORT_FIELDS, parts, strict=True)))
            yield SourceRecord(record)


def _docred(source: Source) -> Iterator[SourceRecord]:
    """One record a document."""
    content = files.json_value(source.path)
    if not isinstance(content, list):
        raise DataError("DocRED is a list of objects with a 'title'", file=source.path)
    train = source.option("train")
    if not train and source.side == "gold":
        source.warnings.append("no training set is named (train=FILE), so Ign F1 leaves no fact out")
    seen = {
        fact
        for document in (files.json_value(train) if train else ())
        for label in document.get("labels", ())
        for fact in _facts(document["vertexSet"], label)
    }
    predictions: dict[str, list[JsonObject]] = {}
    for number, row in enumerate(content):
        with source.checking(field=f"[{number}]"), source.checking(record=row["title"]):
            labels = row["labels"] if source.side == "gold" else [{**row, "h": row["h_idx"], "t": row["t_idx"]}]
            triples = []
            for label in labels:
                head = str(label["h"])
                tail = str(label["t"])
                ids = {"subject_id": head, "object_id": tail, "evidence": label.get("evidence") or []}
                triples.append({"subject": head, "predicate": label["r"], "object": tail, **ids})
            if source.side == "pred":
                predictions.setdefault(row["title"], []).extend(triples)
                continue
            entities = row["vertexSet"]
            for triple, label in zip(triples, labels, strict=True):
                triple["subject"] = entities[label["h"]][0]["name"]
                triple["object"] = entities[label["t"]][0]["name"]
                triple["in_train"] = not seen.isdisjoint(_facts(entities, label))
            text = " ".join(" ".join(sentence) for sentence in row.get("sents", ()))
            yield SourceRecord({"id": row["title"], "text": text, "triples": triples})
    yield from (SourceRecord({"id": title, "triples": triples}) for title, triples in predictions.items())


def _facts(entities: Sequence[Sequence[Mapping[str, str]]], label: Record) -> set[tuple[str, str, str]]:
    """A fact under all names of its entities."""
    names = {end: {mention["name"] for mention in entities[label[end]]} for end in "ht"}
    return {(head, label["r"], tail) for head in names["h"] for tail in names["t"]}


def _carb(source: Source) -> Iterator[SourceRecord]:
    """One record a sentence."""
    sentences: dict[str, list[Fields]] = {}
    for number, line in () if source.is_without_predictions() else source.filled_lines():
        with source.checking("unreadable", line=number):
            text, *cells = line.strip().split("\t")
            triple: JsonObject = {"confidence": float(cells.pop(0))} if source.side == "pred" else {}
            if not cells:
                raise DataError("a line is a sentence and a predicate, then arguments, between tabs")
            predicate, *arguments = cells
            if source.side == "gold":  # only here does the script strip the sentence
                text = text.strip()
                arguments = [argument for argument in arguments if "C: " not in argument]
            triple |= {"subject": "".join(arguments[:1]), "predicate": predicate, "object": " ".join(arguments[1:])}
            if len(arguments) != 2 or not arguments[1].strip():  # as written: an empty argument is one
                triple["meta"] = {"arguments": arguments}
            sentences.setdefault(text, []).append(triple)
    predicates = [triple["predicate"] for triples in sentences.values() for triple in triples]
    if source.side == "gold" and 2 * sum(map(bool, map(NUMBER.fullmatch, predicates))) > len(predicates):
        raise DataError("most predicates are numbers: are these predictions?", file=source.path)
    records: dict[str, SourceRecord] = {}
    for text, triples in sentences.items():  # of sentences with the same letters the last one counts
        letters = re.sub("-[LR][RSC]B-", "", text.replace(" ", ""))
        name = letters.translate(dict.fromkeys(map(ord, string.punctuation)))
        records[name] = SourceRecord({"id": name, "text": text, "triples": triples})
    yield from records.values()


def _text2kgbench(source: Source) -> Iterator[SourceRecord]:
    """One record a sentence."""
    records: dict[str, SourceRecord] = {}
    repeated = 0
    gold = 0
    for number, line in source.filled_lines():
        with source.checking("unreadable", line=number):
            row = jsonl.value(line, line=number)
            name = str(row["id"])
            with source.checking(line=number, record=name):
                text = {"text": row["sent"]} if source.side == "gold" else {}
                triples = _triples(row, source.side)
                repeated += name in records
                with source.checking("id", line=number, record=name):
                    if name in records and source.side == "gold":
                        raise DataError("duplicate document id")
                if source.side == "pred" and "sent" in row and "response" not in row:
                    gold += 1
                    for triple in triples:  # as outputs have them
                        triple["predicate"] = triple["predicate"].replace(" ", "_")
                records[name] = SourceRecord({"id": name, **text, "triples": triples}, number)
    if source.side == "pred" and repeated:
        source.warnings.append(f"{repeated} outputs repeat an id; the last line of each counts")
    if gold:
        source.warnings.append(f"{source.path} holds gold, not predictions; each record counts as its own prediction")
    yield from records.values()


def _triples(row: Record, side: str) -> list[Fields]:
    """The triples of a line."""
    if side == "pred" and not {"triples", "rel_label"} & row.keys():
        return parse(row["response"])
    if "triples" not in row and "rel_label" in row:
        keys = {field: f"{short}_label" for field, short in SHORT_FIELDS.items()}
        keys |= {f"{field}_id": short for field, short in SHORT_FIELDS.items()}
        return [{field: row[key] for field, key in keys.items() if row.get(key) is not None}]
    triples = []
    for index, item in enumerate(row["triples"]):
        values = item
        if isinstance(item, dict):
            values = [item.get(short, item.get(field)) for field, short in SHORT_FIELDS.items()]
        if not isinstance(values, list) or len(values) != 3:
            message = f"a triple is a subject, a relation and an object, not {item!r}"
            raise DataError(message, field=f"triples[{index}]")
        triples.append(dict(zip(SHORT_FIELDS, values, strict=True)))
    return triples


def parse(response: str) -> list[JsonObject]:
    """The statements in a model's answer, as the scripts of Text2KGBench read them.

    >>> parse("author(Inkspell,Cornelia Funke), genre(Inkspell,)")
    [{'subject': 'Inkspell', 'predicate': 'author', 'object': 'Cornelia Funke'}]
    """
    statements = re.findall(r"(\w+)\((.*?),(.*?)\)", response.replace("\\_", "_"), re.DOTALL)
    return [
        {"subject": subject, "predicate": relation, "object": value}
        for relation, subject, value in statements
        if subject and value
    ]


def _looks_like_text2kgbench(file: Path, task: str) -> bool:
    if task != "triples" or file.suffix.lower() != ".jsonl":
        return False
    line = first_line(file)
    return '"text":' not in line and any(mark in line for mark in ('"sent":', '"response":', '"triples": [['))


webnlg = Format(("triples",), _webnlg, suffixes=(".xml",))
docred = Format(("triples",), _docred, options=("train",), spurious="triples")
carb = Format(("triples",), _carb, ignored="sentences", spurious="triples")
text2kgbench = Format(("triples",), _text2kgbench, ignored="outputs", recognises=_looks_like_text2kgbench)
