"""A model of natural language inference by transformers (extra ``semantic``).

Any sequence classifier whose labels say entailment and contradiction, such as those trained on MNLI or XNLI; one with
``entailment`` and ``not_entailment`` knows no contradictions. What is too long is cut from the premise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from goldassay.embedding.sentences import place
from goldassay.exceptions import MissingExtra, ModelError
from goldassay.judges.entailment import Scores


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

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> list[Scores]:
        """Entailment and contradiction of each pair."""
        import torch

        tokenizer, model, entails, contradicts = self._loaded
        longest = min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 512))
        out: list[Scores] = []
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
