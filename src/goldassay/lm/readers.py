"""Extractive readers: transformers models for question answering, which point at the answer in a text.

For each passage (in windows where it is long) the model gives every token a score as the answer's first and as its
last. With p and q the softmax of these over the passage's tokens and the one that stands for "no answer", the best span
is max p(i) · q(j) over i ≤ j < i + `LONGEST`, and "no answer" has p(0) · q(0). The answer is the best span of all
passages, or nothing where "no answer" is the best of every window; its confidence is the span's probability.

Devlin et al., "BERT", 2019, section 4.2 and 4.3. Extra ``transformers``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from goldassay.exceptions import ModelError

LONGEST, WINDOW, STRIDE = 30, 384, 128  # tokens of an answer, of question and passage together, and of the overlap


@dataclass
class ExtractiveReader:
    """A reader by its name on Hugging Face (``deepset/minilm-uncased-squad2``) or its folder.

    Called with a question and passages it gives a dict with ``answer`` (empty: none) and ``confidence``.
    """

    name: str

    @cached_property
    def _parts(self) -> tuple[Any, Any, Any]:
        """torch, the tokenizer and the model, loaded once."""
        try:
            torch, transformers = import_module("torch"), import_module("transformers")
        except ModuleNotFoundError as error:
            raise ModelError(
                f"an extractive reader needs {error.name}: pip install 'goldassay[transformers]'"
            ) from None
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(self.name)
            made = transformers.AutoModelForQuestionAnswering.from_pretrained(self.name, output_loading_info=True)
        except (OSError, ValueError) as error:
            why = str(error).strip().splitlines()[0]
            raise ModelError(f"no extractive reader {self.name!r}: {why}") from None
        model, info = made
        if any("qa_outputs" in key for key in info["missing_keys"]):  # else its last layer would be drawn at random
            kind = type(model.config).__name__.removesuffix("Config")
            raise ModelError(
                f"{self.name} ({kind}) has not learnt to point at answers; name one trained on questions, such as "
                "deepset/minilm-uncased-squad2, or ask a model that writes with --lm"
            )
        if not getattr(tokenizer, "is_fast", False):
            raise ModelError(f"the tokenizer of {self.name} does not say where its tokens stand in the text")
        return torch, tokenizer, model.eval()

    def __call__(self, question: str, contexts: Sequence[str]) -> dict[str, Any]:
        """The answer in the passages, and how sure."""
        torch, tokenizer, model = self._parts
        best, nothing = (0.0, ""), 1.0
        for context in contexts:
            if not context.strip():
                continue
            most = min(WINDOW, int(getattr(tokenizer, "model_max_length", WINDOW)))
            made = tokenizer(
                question,
                context,
                truncation="only_second",
                max_length=most,
                stride=min(STRIDE, most // 4),
                return_overflowing_tokens=True,
                return_offsets_mapping=True,
                padding=True,
                return_tensors="pt",
            )
            offsets = made.pop("offset_mapping").tolist()
            made.pop("overflow_to_sample_mapping", None)
            with torch.inference_mode():
                out = model(**made)
            for window in range(len(offsets)):
                inside = [place == 1 for place in made.sequence_ids(window)]
                if not any(inside):
                    continue
                found = span(out.start_logits[window].numpy(), out.end_logits[window].numpy(), inside)
                first, last = offsets[window][found.first][0], offsets[window][found.last][1]
                best = max(best, (found.probability, context[first:last].strip()))
                nothing = min(nothing, found.nothing - found.probability)
        probability, answer = best
        return {"answer": "" if nothing >= 0 else answer, "confidence": probability}


@dataclass(frozen=True)
class AnswerSpan:
    """The best span of a window, and how likely it and no answer at all are."""

    first: int
    last: int
    probability: float
    nothing: float


def span(starts: Any, ends: Any, inside: Sequence[bool]) -> AnswerSpan:
    """The best span of a window, by the scores of its tokens; the first token stands for no answer.

    >>> found = span([0.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 2.0], [False, False, True, True])
    >>> found.first, found.last, round(found.probability, 3)     # e²/(1 + e² + 1) for each of both ends
    (2, 3, 0.619)
    """
    known = np.array([True, *inside[1:]])
    p, q = (_softmax(np.where(known, np.asarray(one, dtype=float), -np.inf)) for one in (starts, ends))
    places = np.flatnonzero(np.array([False, *inside[1:]]))
    both = np.triu(np.outer(p[places], q[places])) - np.triu(np.outer(p[places], q[places]), LONGEST)
    first, last = np.unravel_index(int(both.argmax()), both.shape)
    return AnswerSpan(int(places[first]), int(places[last]), float(both[first, last]), float(p[0] * q[0]))


def _softmax(scores: Any) -> Any:
    made = np.exp(scores - scores.max())
    return made / made.sum()
