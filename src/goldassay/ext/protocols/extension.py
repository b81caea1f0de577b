"""The entry point of the extension ``protocols``."""

from __future__ import annotations

from goldassay._support.extensions import Extension

ANSWERING = "goldassay.ext.protocols.answering"
CLUSTERS = "goldassay.ext.protocols.clusters"
RELATIONS = "goldassay.ext.protocols.relations"
TEXT2KG = "goldassay.ext.protocols.text2kg"
FORMATS = "goldassay.ext.protocols.formats"

extension = Extension(
    "protocols",
    formats={
        "text2kgbench": f"{FORMATS}.triples:text2kgbench",
        "webnlg": f"{FORMATS}.triples:webnlg",
        "docred": f"{FORMATS}.triples:docred",
        "carb": f"{FORMATS}.triples:carb",
        "coref": f"{FORMATS}.linking:coref",
        "neleval": f"{FORMATS}.linking:neleval",
        "hotpotqa": f"{FORMATS}.questions:one_file",
        "musique": f"{FORMATS}.questions:musique",
        "triviaqa": f"{FORMATS}.questions:one_file",
        "nq_open": f"{FORMATS}.questions:one_file",
        "drop": f"{FORMATS}.questions:one_file",
        "quoref": f"{FORMATS}.questions:one_file",
        "kilt": f"{FORMATS}.questions:one_file",
        "docvqa": f"{FORMATS}.questions:one_file",
        "bfcl": f"{FORMATS}.calls:bfcl",
    },
    measures={
        "trajectories.agentevals": "goldassay.ext.protocols.agentevals:MEASURES",
        "trajectories.bfcl": "goldassay.ext.protocols.bfcl:MEASURES",
        "answering.protocols": f"{ANSWERING}:MEASURES",
        "linking.clusters": f"{CLUSTERS}:MEASURES",
        "triples.relations": f"{RELATIONS}:MEASURES",
        "triples.text2kg": f"{TEXT2KG}:MEASURES",
    },
    protocols={
        "agentevals": "goldassay.ext.protocols.agentevals:AGENTEVALS",
        "bfcl": "goldassay.ext.protocols.bfcl:BFCL",
        "conll": f"{CLUSTERS}:CONLL",
        "tac": f"{CLUSTERS}:TAC",
        "hotpotqa": f"{ANSWERING}:HOTPOTQA",
        "musique": f"{ANSWERING}:MUSIQUE",
        "triviaqa": f"{ANSWERING}:TRIVIAQA",
        "nq_open": f"{ANSWERING}:NQ_OPEN",
        "drop": f"{ANSWERING}:DROP",
        "quoref": f"{ANSWERING}:QUOREF",
        "kilt": f"{ANSWERING}:KILT",
        "docvqa": f"{ANSWERING}:DOCVQA",
        "text2kgbench": f"{TEXT2KG}:TEXT2KGBENCH",
        "webnlg": f"{TEXT2KG}:WEBNLG",
        "docred": f"{RELATIONS}:DOCRED",
        "carb": f"{RELATIONS}:CARB",
    },
)
