"""A judge of support without a language model: a model of natural language inference says what entails a claim.

A claim is a sentence of the answer (no language model takes it apart). It is supported if a sentence of the text, or
the whole text, entails it; else contradicted if the whole text contradicts it; else not stated. The quote is the
sentence that weighs most. A sentence by itself is not asked for contradictions: models of inference find one in most
unrelated pairs.

`NLI` loads such a model by transformers (extra ``semantic``): any sequence classifier whose labels say entailment and
contradiction, such as those trained on MNLI or XNLI; one with ``entailment`` and ``not_entailment`` knows no
contradictions. A premise that is too long is cut.

Laban et al., SummaC: re-visiting NLI-based models for inconsistency detection in summarization, TACL 2022 (entailment
by sentence, the best one counts).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from goldassay.embedding.models import place
from goldassay.exceptions import GoldassayError, MissingExtra, ModelError
from goldassay.judges.questions import Question
from goldassay.measures.judged import Verdict
from goldassay.text.words import sentences

EntailmentScores = tuple[float, float]
"""The probabilities that a premise entails a hypothesis, and that it contradicts it."""


class NLI:
    """A text-classification pipeline of transformers, loaded on the first call.

    Args:
        model: its name on Hugging Face, or a folder.
        labels: the model's classes in their order, if it does not name them itself
            (``("contradiction", "neutral", "entailment")``).
        batch: pairs at a time.
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
    def _pipeline(self) -> Any:
        from transformers import pipeline

        try:
            loaded: Any = pipeline("text-classification", str(self.place), top_k=None, function_to_apply="softmax")
        except (OSError, ValueError, RuntimeError) as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
            raise ModelError(f"the entailment model {self.model!r} cannot be loaded: {first}") from None
        if self.labels:
            loaded.model.config.id2label = dict(enumerate(self.labels))
        return loaded

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> list[EntailmentScores]:
        """Entailment and contradiction of each pair."""
        names = self._pipeline.model.config.id2label
        entails, contradicts = classes([names[index] for index in range(len(names))], self.model)
        longest = getattr(self._pipeline.model.config, "max_position_embeddings", 512)
        if not pairs:
            return []
        rows = self._pipeline(
            [{"text": premise, "text_pair": claim} for premise, claim in pairs],
            batch_size=self.batch,
            padding=True,
            truncation="only_first",
            max_length=min(self._pipeline.tokenizer.model_max_length, longest),
        )
        scores = [{label["label"]: float(label["score"]) for label in row} for row in rows]
        return [(row[names[entails]], 0.0 if contradicts is None else row[names[contradicts]]) for row in scores]


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


class EntailmentJudge:
    """A judge of support that needs no language model; the claim measures take it in a `Judge`'s place.

    Args:
        model: the model of inference, which has a ``name`` and maps pairs of premise and hypothesis to probabilities.
        threshold: the least probability that counts.
        version: part of the name.

    >>> class Same:
    ...     name = "same"
    ...     def __call__(self, pairs):
    ...         return [(float(claim in premise), 0.0) for premise, claim in pairs]
    >>> judge = EntailmentJudge(Same())
    >>> judge.verdict("support", text="The museum is red. It opened in 1885.", claim="It opened in 1885.")
    Verdict(label='supported', quote='It opened in 1885.', reason='')
    """

    unknown, warning = 0, ""
    questions = ("support",)

    def __init__(
        self,
        model: Any,
        *,
        threshold: float = 0.5,
        version: str = "1",
    ) -> None:
        if not (callable(model) and hasattr(model, "name")):
            raise GoldassayError("an entailment model has a name, and maps pairs to probabilities; see NLI(…)")
        if not 0 < threshold < 1:
            raise GoldassayError(f"threshold is a probability between 0 and 1, not {threshold!r}")
        self.model, self.threshold, self.version = model, threshold, version
        self.asked = self.calls = 0
        self._verdicts: dict[tuple[str, str], Verdict] = {}

    def __str__(self) -> str:
        at = "" if self.threshold == 0.5 else f">{self.threshold:g}"
        return f"nli:{self.model.name}{at}@{self.version}"

    def claims(self, text: str) -> list[str]:
        """The sentences of a text."""
        return [claim for claim in sentences(text) if claim.strip()]

    def verdict(self, question: Question | str, /, text: str = "", claim: str = "", **_: str) -> Verdict:
        """``supported``, ``contradicted`` or ``not_stated``, with the sentence that weighs most; asked once."""
        if str(question) != "support":
            raise GoldassayError(f"{self} judges support alone, not {question}")
        if not text.strip() or not claim.strip():
            return Verdict("not_stated")
        self.asked += 1
        if (text, claim) not in self._verdicts:
            self.calls += 1
            self._verdicts[text, claim] = self._infer(text, claim)
        return self._verdicts[text, claim]

    def _infer(self, text: str, claim: str) -> Verdict:
        parts = sentences(text) or [text]
        premises = [*parts, text] if len(parts) > 1 else parts
        model: Any = self.model
        scores = _checked(model([(premise, claim) for premise in premises]), len(premises), self.model.name)
        entails, contradicts = zip(*scores, strict=True)
        if max(entails) >= self.threshold:
            return Verdict("supported", _heaviest(parts, entails))
        if contradicts[-1] >= self.threshold:
            return Verdict("contradicted", _heaviest(parts, contradicts))
        return Verdict("not_stated")


def _checked(scores: Sequence[EntailmentScores], n: int, name: str) -> list[EntailmentScores]:
    """Probabilities that can be used.

    >>> _checked([(0.5, 1.5)], 1, "bad")
    Traceback (most recent call last):
    goldassay.exceptions.ModelError: the entailment model 'bad' gave (0.5, 1.5); expected two probabilities a pair
    """
    pairs = [(float(entails), float(contradicts)) for entails, contradicts in scores]
    if len(pairs) != n:
        raise ModelError(f"the entailment model {name!r} gave {len(pairs)} results for {n} pairs")
    for pair in pairs:
        if not all(math.isfinite(score) and -1e-6 <= score <= 1 + 1e-6 for score in pair):
            raise ModelError(f"the entailment model {name!r} gave {pair}; expected two probabilities a pair")
    return pairs


def _heaviest(parts: Sequence[str], weights: Sequence[float]) -> str:
    return max(zip(parts, weights, strict=False), key=lambda pair: pair[1])[0]
