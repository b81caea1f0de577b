"""Freezing what Wikidata says about articles: N-Triples that a local store answers as the service did."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from goldassay import files
from goldassay.exceptions import GoldassayError
from goldassay.wikidata import sparql
from goldassay.wikidata.articles import Subject
from goldassay.wikidata.client import WikidataClient

CLAIM, MAIN, DEEP = sparql.PROP, f"{sparql.PROP}statement/", f"{sparql.PROP}statement/value/"
DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"


def check_name(file: Path) -> None:
    """Refuse a file that is not N-Triples by its name."""
    if file.suffix != ".nt":
        raise GoldassayError(f"{file}: statements are written as N-Triples; name a .nt file")


def freeze(articles: Sequence[Subject], client: WikidataClient, file: Path) -> int:
    """Write the items of articles, with the names of their values, to a ``.nt`` file; returns the number of triples.

    Values that share a name with another of their item get their classes (P31), which tell them apart.
    """
    check_name(file)
    lines = list(_lines(articles, client))
    file.parent.mkdir(parents=True, exist_ok=True)
    files.save(file, "".join(lines))
    return len(lines)


def _lines(articles: Sequence[Subject], client: WikidataClient) -> Iterator[str]:
    items = {article.item.id: article for article in articles}
    for qid, article in items.items():
        yield from _item(client, qid)
        for old in (old for old, new in article.redirects.items() if new == qid):
            yield _line(sparql.ENTITY + old, f"{sparql.OWL}sameAs", _iri(sparql.ENTITY + qid))
    qids = dict.fromkeys([*items, *(qid for article in articles for qid in article.item.items())])
    for row in client.select_items(lambda some: sparql.names(some, client.languages), qids):
        is_alias = row["alias"]["value"] in ("true", "1")
        name = f"{sparql.SKOS}altLabel" if is_alias else f"{sparql.RDFS}label"
        yield _line(row["item"]["value"], name, row["name"])
    ambiguous = {qid for article in articles for qid in article.types} - set(items)
    for number, row in enumerate(client.select_items(sparql.classes, sorted(ambiguous))):
        statement = f"{sparql.ENTITY}statement/class-{number}"
        yield _line(row["item"]["value"], f"{CLAIM}P31", _iri(statement))
        yield _line(statement, f"{MAIN}P31", row["class"])


def _item(client: WikidataClient, qid: str) -> Iterator[str]:
    """An item, made of the rows that the service answers, so that a store answers the same."""
    rows, fetched = client.endpoint.select(sparql.statements(qid))
    node = sparql.ENTITY + qid
    for row in rows:
        statement, name = row["statement"]["value"], row["property"]["value"].removeprefix(sparql.ENTITY)
        for key, space in (("claim", CLAIM), ("statementProperty", MAIN), ("statementValue", DEEP)):
            yield _line(row["property"]["value"], sparql.ONTOLOGY + key, _iri(space + name))
        yield _line(row["property"]["value"], f"{sparql.ONTOLOGY}propertyType", row["type"])
        yield _line(node, CLAIM + name, _iri(statement))
        yield _line(statement, f"{sparql.ONTOLOGY}rank", row["rank"])
        yield _line(statement, MAIN + name, row["value"])
        parts = {name: row[key] for group in sparql.VALUE_PARTS for key, name in group.items() if key in row}
        for key, value in parts.items():
            yield _line(f"{statement}-value", sparql.ONTOLOGY + key, value)
        if parts:
            yield _line(statement, DEEP + name, _iri(f"{statement}-value"))
    for row in client.endpoint.select(sparql.sitelinks(qid))[0]:
        article = row["article"]["value"]
        yield _line(article, f"{sparql.SCHEMA}about", _iri(node))
        yield _line(article, f"{sparql.SCHEMA}isPartOf", row["site"])
        yield _line(article, f"{sparql.SCHEMA}name", row["name"])
    if fetched:
        page = f"https://www.wikidata.org/wiki/Special:EntityData/{qid}"
        yield _line(page, sparql.FETCHED, {"type": "literal", "value": fetched, "datatype": DATE_TIME})


def _iri(iri: str) -> dict[str, str]:
    return {"type": "uri", "value": iri}


def _line(subject: str, predicate: str, term: Mapping[str, str]) -> str:
    """A triple whose object is a term of SPARQL's JSON; JSON's escapes are those of N-Triples, too."""
    value = json.dumps(term["value"], ensure_ascii=False)
    if term["type"] == "uri":
        value = f"<{term['value']}>"
    elif term["type"] == "bnode":
        value = f"_:{term['value']}"
    elif "xml:lang" in term:
        value += f"@{term['xml:lang']}"
    elif "datatype" in term:
        value += f"^^<{term['datatype']}>"
    return f"<{subject}> <{predicate}> {value} .\n"
