"""Vectors of tokens, for BERTScore: a transformers model, one of its layers (extra ``semantic``)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from goldassay.embedding.models import DEFAULT, place
from goldassay.embedding.protocol import Array
from goldassay.exceptions import MissingExtra, ModelError


class Transformer:
    """The hidden states of a transformers model at ``layer`` (the last one by default), without its padding.

    Texts are stripped, cut at the model's length, and run in batches of like length.
    """

    def __init__(self, model: str = DEFAULT, layer: int | None = None, *, batch: int = 64) -> None:
        if find_spec("transformers") is None or find_spec("torch") is None:
            raise MissingExtra("transformers", "semantic")
        self.model, self.layer, self.batch = model, layer, batch
        self.place = place(model)

    @property
    def name(self) -> str:
        """``MODEL`` or ``MODEL:LAYER``."""
        return self.model if self.layer is None else f"{self.model}:{self.layer}"

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        from transformers import AutoModel, AutoTokenizer

        try:
            tokenizer, model = (
                AutoTokenizer.from_pretrained(str(self.place)),
                AutoModel.from_pretrained(str(self.place)),
            )
        except (OSError, ValueError) as error:
            raise ModelError(
                f"the model {self.model!r} cannot be loaded: {str(error).strip().splitlines()[0][:160]}"
            ) from None
        if self.layer is not None and not 0 <= self.layer <= model.config.num_hidden_layers:
            raise ModelError(f"{self.model} has layers 0 to {model.config.num_hidden_layers}, not {self.layer}")
        return tokenizer, model.eval()

    @property
    def special(self) -> frozenset[int]:
        """The tokens that open and close a text."""
        tokenizer, _ = self._loaded
        return frozenset(found for found in (tokenizer.cls_token_id, tokenizer.sep_token_id) if found is not None)

    def __call__(self, texts: Sequence[str], /) -> list[tuple[Array, Array]]:
        """The ids and the hidden states of each text."""
        import torch

        tokenizer, model = self._loaded
        longest = min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 512))
        ids = [tokenizer.encode(text.strip(), truncation=True, max_length=longest) for text in texts]
        out: list[tuple[Array, Array]] = [(np.zeros(0), np.zeros((0, 0)))] * len(texts)
        order = sorted(range(len(texts)), key=lambda index: len(ids[index]))
        for start in range(0, len(order), self.batch):
            part = order[start : start + self.batch]
            width = max(len(ids[index]) for index in part)
            rows = torch.tensor([ids[index] + [0] * (width - len(ids[index])) for index in part])
            mask = torch.tensor([[1] * len(ids[index]) + [0] * (width - len(ids[index])) for index in part])
            with torch.no_grad():
                found = model(input_ids=rows, attention_mask=mask, output_hidden_states=self.layer is not None)
            states = found.last_hidden_state if self.layer is None else found.hidden_states[self.layer]
            for index, state in zip(part, states.numpy(), strict=True):
                out[index] = np.asarray(ids[index]), state[: len(ids[index])]
        return out
