"""Official protocols beyond HIPE's and SQuAD's: their values, their measures and the formats of their files.

`answering` has HotpotQA, MuSiQue, TriviaQA, open NQ, DROP, Quoref, KILT and DocVQA; `clusters` coreference and TAC's
links (neleval); `relations` DocRED and CaRB; `text2kg` Text2KGBench and WebNLG; `formats` their files. `claimed` finds
the conventions under which a value is the one that somebody reported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goldassay.ext.protocols.answering import Conditional, Drop, Kilt, SupportingFacts
    from goldassay.ext.protocols.clusters import Clusters
    from goldassay.ext.protocols.relations import CaRB, DocRED
    from goldassay.ext.protocols.text2kg import WebNLG

__all__ = ["CaRB", "Clusters", "Conditional", "DocRED", "Drop", "Kilt", "SupportingFacts", "WebNLG"]
_HOME = {"CaRB": "relations", "Clusters": "clusters", "DocRED": "relations", "WebNLG": "text2kg"}


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"goldassay.ext.protocols.{_HOME.get(name, 'answering')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
