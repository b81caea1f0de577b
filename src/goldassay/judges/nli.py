"""A judge of support without a language model: a model of natural language inference says what entails a claim.

A claim is a sentence of the answer (no language model takes it apart). It is supported where a sentence of the text, or
the whole text, entails it; else contradicted where the whole text contradicts it; else not stated. The quote is the
sentence that weighs most. A sentence by itself is not asked for contradictions: models of inference find one in most
unrelated pairs.

`NLI` loads such a model by transformers (extra ``semantic``): any sequence classifier whose labels say entailment and
contradiction, such as those trained on MNLI or XNLI; one with ``entailment`` and ``not_entailment`` knows no
contradictions. What is too long is cut from the premise.

Laban et al., SummaC: re-visiting NLI-based models for inconsistency detection in summarization, TACL 2022 (entailment
by sentence, the best one counts).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from goldassay.embedding.models import place
from goldassay.exceptions import GoldassayError, MissingExtra, ModelError
from goldassay.measures.judged import Verdict
from goldassay.text.words import sentences


class NLI:
    """A model folder or name, loaded when it is first asked and once only.

    ``labels`` names the model's classes in their order, where the model itself does not
    (``("contradiction", "neutral", "entailment")``).
    """

    def __init__(self, model: str, *, labels: Sequence[str] | None = None, batch: int = 16) -> None:
        if find_spec("transformers") is None or find_spec("torch") is None:
            raise MissingExtra("transformers", "semantic")
        if not model:
            raise ModelError("an entailment model needs a name or a folder")
        self.model, self.labels, self.batch = model, labels, batch
        self.place = place(model)

    @property
    def name(self) -> str:
        """The model; of a folder its last part."""
        return Path(self.model).name if Path(self.model).is_dir() else self.model

    @cached_property
    def _loaded(self) -> tuple[Any, Any, int, int | None]:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(str(self.place))
            model = AutoModelForSequenceClassification.from_pretrained(str(self.place)).eval()
        except (OSError, ValueError, RuntimeError) as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
            raise ModelError(f"the entailment model {self.model!r} cannot be loaded: {first}") from None
        known = model.config.id2label
        names = list(self.labels or [known[index] for index in range(len(known))])
        return tokenizer, model, *classes(names, self.model)

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> list[EntailmentScores]:
        """Entailment and contradiction of each pair."""
        import torch

        tokenizer, model, entails, contradicts = self._loaded
        longest = min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 512))
        out: list[EntailmentScores] = []
        for start in range(0, len(pairs), self.batch):
            premises, claims = (list(side) for side in zip(*pairs[start : start + self.batch], strict=True))
            fed = tokenizer(
                premises, claims, truncation="only_first", max_length=longest, padding=True, return_tensors="pt"
            )
            with torch.no_grad():
                rows = torch.softmax(model(**fed).logits, dim=-1).tolist()
            out += [(row[entails], 0.0 if contradicts is None else row[contradicts]) for row in rows]
        return out


def classes(labels: Sequence[str], model: str = "the model") -> tuple[int, int | None]:
    """Which class is entailment and which contradiction.

    >>> classes(["CONTRADICTION", "neutral", "Entailment"]), classes(["entailment", "not_entailment"])
    ((2, 0), (0, None))
    """
    plain = [str(label).lower() for label in labels]
    entails = [index for index, label in enumerate(plain) if label.startswith("entail")]
    contradicts = [index for index, label in enumerate(plain) if label.startswith("contra")]
    if len(entails) != 1 or len(contradicts) > 1:
        raise ModelError(
            f"{model!r} has the classes {', '.join(map(str, labels))}: none says entailment; "
            "give labels=('contradiction', 'neutral', 'entailment') in the model's order"
        )
    return entails[0], contradicts[0] if contradicts else None


EntailmentScores = tuple[float, float]
"""The probabilities that a premise entails a hypothesis, and that it contradicts it."""


@runtime_checkable
class Entailment(Protocol):
    """A model of inference: pairs of premise and hypothesis to probabilities. ``name`` is the model's."""

    @property
    def name(self) -> str:
        """The model."""
        ...

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> Sequence[EntailmentScores]:
        """Entailment and contradiction of each pair."""
        ...


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

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock: the judge travels to other processes."""
        return {**self.__dict__, "_lock": None}

    def __setstate__(self, state: Mapping[str, object]) -> None:
        self.__dict__ |= {**state, "_lock": threading.Lock()}

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


def checked(scores: Sequence[EntailmentScores], n: int, name: str) -> list[EntailmentScores]:
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
