"""``webnlg``: the benchmark's XML, gold with ``modifiedtripleset`` and predictions with ``generatedtripleset``.

An entry is named by its category and its ``eid``. Where these repeat, both files must have the same entries in the same
order, as the official script takes for granted. A document type or an entity is refused: the benchmark has neither.

Source: https://github.com/WebNLG/WebNLG-Text-to-triples
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.gold.formats import Row, Source

TASKS = ("triples",)
OPTIONS = ()
SETS = {"gold": ("modifiedtripleset", "mtriple"), "pred": ("generatedtripleset", "gtriple")}


def rows(source: Source) -> Iterator[Row]:
    """One record an entry."""
    content, (set_, triple) = files.text(source.path), SETS[source.side]
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
        record: dict[str, Any] = {"id": f"{name}#{number}" if source.numbered else name}
        with source.checking(record=record["id"]):
            statements = entry.find(set_)
            if statements is None:
                raise DataError(f"no <{set_}>, which a file of {source.side} has")
            if source.side == "gold" and (text := entry.findtext("lex")):
                record["text"] = text
            yield Row({**record, "triples": [_triple(each.text or "") for each in statements.iter(triple)]})


def _triple(text: str) -> dict[str, str]:
    parts = re.split(r"\s\|\s", text, maxsplit=2)
    if len(parts) != 3:
        raise DataError(f"a triple is 'subject | predicate | object', not {text!r}", field="triples")
    return dict(zip(("subject", "predicate", "object"), parts, strict=True))
