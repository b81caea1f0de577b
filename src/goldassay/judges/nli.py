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

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from goldassay.embedding import place
from goldassay.exceptions import GoldassayError, MissingExtra, ModelError
from goldassay.judges.questions import Question
from goldassay.measures.judged import Verdict
from goldassay.text.words import sentences

LEAST = 0.5  # probability that counts


class NLI:
    """A text-classification pipeline of transformers, loaded on the first call.

    ``model`` is its name on Hugging Face, or a folder; ``batch`` pairs are asked at a time.
    """

    def __init__(self, model: str, *, batch: int = 16) -> None:
        if find_spec("transformers") is None or find_spec("torch") is None:
            raise MissingExtra("transformers", "semantic")
        self.model, self.batch, self.place = model, batch, place(model)
        self.name = Path(model).name if Path(model).is_dir() else model

    @cached_property
    def _pipeline(self) -> Any:
        from transformers import pipeline

        try:
            return pipeline("text-classification", str(self.place), top_k=None, function_to_apply="softmax")
        except (OSError, ValueError, RuntimeError) as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
            raise ModelError(f"the entailment model {self.model!r} cannot be loaded: {first}") from None

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> list[tuple[float, float]]:
        """The probabilities of entailment and contradiction of each pair; a model without a class for it finds none."""
        config, longest = self._pipeline.model.config, self._pipeline.tokenizer.model_max_length
        entails, contradicts = (
            [label for label in config.id2label.values() if str(label).lower().startswith(start)]
            for start in ("entail", "contra")
        )
        if len(entails) != 1:
            classes = ", ".join(map(str, config.id2label.values()))
            raise ModelError(f"{self.model!r} has the classes {classes}: none of them, or several, say entailment")
        rows = self._pipeline(
            [{"text": premise, "text_pair": claim} for premise, claim in pairs],
            batch_size=self.batch,
            padding=True,
            truncation="only_first",
            max_length=min(longest, getattr(config, "max_position_embeddings", 512)),
        )
        scores = [{label["label"]: float(label["score"]) for label in row} for row in rows]
        return [(row[entails[0]], sum(row[label] for label in contradicts)) for row in scores]


class EntailmentJudge:
    """A judge of support that needs no language model; the claim measures take it in a `Judge`'s place.

    ``model`` is the model of inference, which has a ``name`` and maps pairs of premise and hypothesis to probabilities.

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

    def __init__(self, model: Any) -> None:
        self.model = model
        self._verdicts: dict[tuple[str, str], Verdict] = {}

    def __str__(self) -> str:
        return f"nli:{self.model.name}@1"

    def claims(self, text: str) -> list[str]:
        """The sentences of a text."""
        return [claim for claim in sentences(text) if claim.strip()]

    def verdict(self, question: Question | str, /, text: str = "", claim: str = "", **_: str) -> Verdict:
        """``supported``, ``contradicted`` or ``not_stated``, with the sentence that weighs most; asked once."""
        if str(question) != "support":
            raise GoldassayError(f"{self} judges support alone, not {question}")
        if not text.strip() or not claim.strip():
            return Verdict("not_stated")
        if (text, claim) not in self._verdicts:
            parts = sentences(text) or [text]
            premises = [*parts, text] if len(parts) > 1 else parts
            entails, contradicts = zip(*self.model([(premise, claim) for premise in premises]), strict=True)
            label, weights = "not_stated", entails
            if max(entails) >= LEAST:
                label = "supported"
            elif contradicts[-1] >= LEAST:
                label, weights = "contradicted", contradicts
            _, quote = max(zip(weights, parts, strict=False), key=lambda pair: pair[0])
            self._verdicts[text, claim] = Verdict(label, quote if label != "not_stated" else "")
        return self._verdicts[text, claim]
