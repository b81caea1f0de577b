"""Wikidata and its like: a client, an embedded store that answers the same queries, resolving and aligning."""
