"""The entry point of the extension ``wikidata``."""

from __future__ import annotations

from goldassay._support.extensions import Extension

extension = Extension(
    "wikidata",
    commands={
        "wikidata fetch": "goldassay.ext.wikidata.commands:fetch",
        "wikidata evaluate": "goldassay.ext.wikidata.commands:evaluate",
        "wikidata gaps": "goldassay.ext.wikidata.commands:gaps",
        "wikidata tune": "goldassay.ext.wikidata.commands:tune",
        "wikidata alignment": "goldassay.ext.wikidata.commands:alignment",
        "wikidata novel": "goldassay.ext.wikidata.commands:novel",
    },
)
