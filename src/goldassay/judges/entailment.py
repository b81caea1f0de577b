"""Entailment as a judge of support: a model of natural language inference says which sentences support a claim.

A claim is a sentence of the answer (no language model takes it apart). It is supported where a sentence of the text, or
the whole text, entails it; else contradicted where the whole text contradicts it; else not stated. The quote is the
sentence that weighs most. A sentence by itself is not asked for contradictions: models of inference find one in most
unrelated pairs.

Laban et al., SummaC: re-visiting NLI-based models for inconsistency detection in summarization, TACL 2022 (entailment
by sentence, the best one counts).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from goldassay.exceptions import GoldassayError, ModelError
from goldassay.judges.verdict import Verdict
from goldassay.measures.answering.sentences import sentences

Scores = tuple[float, float]
"""The probabilities that a premise entails a hypothesis, and that it contradicts it."""


@runtime_checkable
class Entailment(Protocol):
    """A model of inference: pairs of premise and hypothesis to probabilities. ``name`` is the model's."""

    @property
    def name(self) -> str:
        """The model."""

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> Sequence[Scores]:
        """Entailment and contradiction of each pair."""


class EntailmentJudge:
    """A judge of support that needs no language model; the claim measures take it in a `Judge`'s place.

    ``threshold`` is the least probability that counts; ``decompose`` makes claims of a text (its sentences).

    >>> class Same:
    ...     name = "same"
    ...     def __call__(self, pairs):
    ...         return [(float(claim in premise), 0.0) for premise, claim in pairs]
    >>> judge = EntailmentJudge(Same())
    >>> judge.support("The museum is red. It opened in 1885.", "It opened in 1885.")
    Verdict(label='supported', quote='It opened in 1885.', reason='')
    """

    def __init__(
        self,
        model: Entailment,
        *,
        threshold: float = 0.5,
        decompose: Callable[[str], Sequence[str]] = sentences,
        version: str = "1",
    ) -> None:
        if not isinstance(model, Entailment):
            raise GoldassayError("an entailment model has a name, and maps pairs to probabilities; see NLI(…)")
        if not 0 < threshold < 1:
            raise GoldassayError(f"threshold is a probability between 0 and 1, not {threshold!r}")
        self.model, self.threshold, self.decompose, self.version = model, threshold, decompose, version
        self.asked = self.calls = self.unknown = 0
        self.warning = ""
        self._verdicts: dict[tuple[str, str], Verdict] = {}
        self._lock = threading.Lock()

    def __str__(self) -> str:
        at = "" if self.threshold == 0.5 else f">{self.threshold:g}"
        return f"nli:{self.model.name}{at}@{self.version}"

    def claims(self, text: str) -> list[str]:
        """The sentences of a text."""
        return [claim for claim in self.decompose(text) if claim.strip()]

    def support(self, text: str, claim: str) -> Verdict:
        """``supported``, ``contradicted`` or ``not_stated``, with the sentence that weighs most; asked once."""
        if not text.strip() or not claim.strip():
            return Verdict("not_stated")
        with self._lock:
            self.asked += 1
            if (text, claim) not in self._verdicts:
                self.calls += 1
                self._verdicts[text, claim] = self._judged(text, claim)
            return self._verdicts[text, claim]

    def supported(self, text: str, claim: str) -> bool:
        """The same as a truth value."""
        return self.support(text, claim).label == "supported"

    def _judged(self, text: str, claim: str) -> Verdict:
        parts = sentences(text) or [text]
        premises = [*parts, text] if len(parts) > 1 else parts
        scores = checked(self.model([(premise, claim) for premise in premises]), len(premises), self.model.name)
        entails = [score[0] for score in scores]
        if max(entails) >= self.threshold:
            return Verdict("supported", parts[_best(entails[: len(parts)])])
        if scores[-1][1] >= self.threshold:
            return Verdict("contradicted", parts[_best([score[1] for score in scores[: len(parts)]])])
        return Verdict("not_stated")


def checked(scores: Sequence[Scores], n: int, name: str) -> list[Scores]:
    """Probabilities that can be used.

    >>> checked([(0.5, 1.5)], 1, "bad")
    Traceback (most recent call last):
    goldassay.exceptions.ModelError: the entailment model 'bad' gave (0.5, 1.5); expected two probabilities a pair
    """
    made = [(float(entails), float(contradicts)) for entails, contradicts in scores]
    if len(made) != n:
        raise ModelError(f"the entailment model {name!r} gave {len(made)} results for {n} pairs")
    for pair in made:
        if not all(math.isfinite(one) and -1e-6 <= one <= 1 + 1e-6 for one in pair):
            raise ModelError(f"the entailment model {name!r} gave {pair}; expected two probabilities a pair")
    return made


def _best(values: Sequence[float]) -> int:
    return max(range(len(values)), key=lambda index: values[index])
