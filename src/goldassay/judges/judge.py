"""A judge: a bound language model that answers signatures, once for each distinct input.

Temperature 0; verdicts are kept by (version, model, signature, inputs). What cannot be read is asked again (the only
calls with a temperature, so that they differ), then it is *unknown*: ``None``, counted in ``unknown``.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from goldassay.exceptions import GoldassayError
from goldassay.judges import signatures as asks
from goldassay.judges.quoting import data, stands

RELEVANCE = {"full": 1.0, "partial": 0.5, "none": 0.0, "evasion": 0.0}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said: ``label`` (``None`` is unknown), and the quote that it rests on, which stands in the text."""

    label: str | None
    quote: str = ""
    reason: str = ""


class Judge:
    """A judge with its own model, which never follows the program's context.

    ``programs`` replaces what answers a signature, by its name (``{"Supports": my_module}``), such as a tuned one.
    ``verdicts`` is the store of verdicts, a mapping from keys to fields; it can be written to JSON and given again.
    """

    def __init__(
        self,
        lm: Any,
        *,
        adapter: Any = None,
        retries: int = 1,
        version: str = "1",
        programs: Mapping[str, Any] | None = None,
        verdicts: dict[str, dict[str, Any] | None] | None = None,
        sample: int = 0,
    ) -> None:
        if lm is None:
            raise GoldassayError("a judge needs a model of its own: Judge(lm=dspy.LM(…)) or goldassay.lm.resolve(name)")
        self.lm, self.adapter, self.retries, self.version, self.sample = lm, adapter, retries, version, sample
        self.programs = dict(programs or {})
        self.verdicts = {} if verdicts is None else verdicts
        self.asked = self.calls = self.unknown = 0
        self.last_failure = ""
        self._lock = threading.Lock()
        self._busy: dict[str, threading.Lock] = {}

    def __str__(self) -> str:
        return f"{getattr(self.lm, 'model', type(self.lm).__name__)}@{self.version}"

    def ask(self, signature: Any, **inputs: str) -> dict[str, Any] | None:
        """The fields of an answer; ``None`` where none came back that can be read."""
        key = self._key(signature, inputs)
        with self._lock:
            self.asked += 1
            busy = self._busy.setdefault(key, threading.Lock())
        with busy:
            if key not in self.verdicts:
                self.verdicts[key] = self._fresh(signature, {name: data(text) for name, text in inputs.items()})
            return self.verdicts[key]

    def _fresh(self, signature: Any, inputs: dict[str, str]) -> dict[str, Any] | None:
        program = self.programs.get(signature.__name__) or dspy.Predict(signature)
        for attempt in range(self.retries + 1):
            config: dict[str, Any] = {"temperature": 0.0}
            if attempt or self.sample:
                config = {"temperature": 0.5, "rollout_id": 1000 * self.sample + attempt + 1}
            model = self.lm.copy(**config) if hasattr(self.lm, "copy") else self.lm
            try:
                with self._lock:
                    self.calls += 1
                with dspy.context(lm=model, adapter=self.adapter, trace=None):
                    made = program(**inputs)
                found = {name: made[name] for name in signature.output_fields}
                if all(value is not None for value in found.values()):
                    return found
                self.last_failure = "a field of the verdict is missing"
            except Exception as error:  # noqa: BLE001  whatever went wrong, the verdict is unknown, and is counted
                self.last_failure = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        with self._lock:
            self.unknown += 1
        return None

    def _key(self, signature: Any, inputs: Mapping[str, str]) -> str:
        about = [self.version, str(self), self.sample, signature.__name__, signature.instructions, dict(inputs)]
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()

    @property
    def warning(self) -> str:
        """What a report says about verdicts that did not come back; empty when all did."""
        if not self.unknown:
            return ""
        return (
            f"{self.unknown} verdicts of {self} are unknown: they count neither for nor against ({self.last_failure})"
        )

    def claims(self, text: str) -> list[str] | None:
        """The claims of a text; an empty text has none."""
        if not text.strip():
            return []
        found = self.ask(asks.Claims, text=text)
        return None if found is None else [claim for claim in found["claims"] if claim.strip()]

    def support(self, text: str, claim: str) -> Verdict:
        """Whether a text supports a claim. Support whose quote does not stand in the text is unknown."""
        if not text.strip():
            return Verdict("not_stated")
        found = self.ask(asks.Supports, text=text, claim=claim)
        if found is None:
            return Verdict(None)
        if found["verdict"] != "not_stated" and not stands(found["quote"], text):
            return Verdict(None, reason=f"the quote {found['quote']!r} does not stand in the text")
        return Verdict(found["verdict"], found["quote"])

    def supported(self, text: str, claim: str) -> bool | None:
        """The same as a truth value."""
        label = self.support(text, claim).label
        return None if label is None else label == "supported"

    def relevance(self, question: str, answer: str) -> Verdict:
        """``full``, ``partial``, ``none`` or ``evasion``; an empty answer evades."""
        if not answer.strip():
            return Verdict("evasion")
        return _label(self.ask(asks.Relevance, question=question, answer=answer))

    def rubric(self, levels: Mapping[str, str], question: str, answer: str) -> Verdict:
        """The name of a level; another name than those is unknown."""
        told = "\n".join(f"{name}: {meaning}" for name, meaning in levels.items())
        verdict = _label(self.ask(asks.Rubric, rubric=told, question=question, answer=answer))
        return verdict if verdict.label in levels else Verdict(None, reason=f"no level {verdict.label!r}")

    def criterion(self, criterion: str, question: str, answer: str) -> Verdict:
        """``yes`` or ``no``."""
        return _label(self.ask(asks.Criterion, criterion=criterion, question=question, answer=answer))

    def prefer(self, question: str, first: str, second: str) -> Verdict:
        """``first``, ``second`` or ``tie``, asked in both orders; orders that disagree make a tie."""
        here = _label(self.ask(asks.Preference, question=question, first=first, second=second)).label
        there = _label(self.ask(asks.Preference, question=question, first=second, second=first)).label
        if here is None or there is None:
            return Verdict(None)
        same = {"first": "second", "second": "first", "tie": "tie"}[there] == here
        return Verdict(here) if same else Verdict("tie", reason="the two orders disagree")

    def type_plausible(self, text: str, mention: str, type: str) -> Verdict:
        """``yes`` or ``no``."""
        return _label(self.ask(asks.TypePlausibility, text=text, mention=mention, type=type))

    def link_plausible(self, text: str, mention: str, entity: str) -> Verdict:
        """``yes`` or ``no``."""
        return _label(self.ask(asks.LinkPlausibility, text=text, mention=mention, entity=entity))

    def supports(self, answer: str, gold: str | None, contexts: Sequence[str] | None) -> dict[str, Any]:
        """Claims of both answers and the four tables of `goldassay.measures.answering.claims`, as far as asked."""
        mine = self.claims(answer)
        theirs = self.claims(gold) if gold is not None else None
        tables: dict[str, Any] = {}
        if gold is not None:
            tables["answer_by_gold"] = _line(self, mine, gold)
            tables["gold_by_answer"] = _line(self, theirs, answer)
        if contexts is not None:
            tables["answer_by_context"] = _grid(self, mine, contexts)
            if gold is not None:
                tables["gold_by_context"] = _grid(self, theirs, contexts)
        return {"answer": answer, "answer_claims": mine or [], "gold_claims": theirs or [], "support": tables}


def _line(judge: Judge, claims: list[str] | None, text: str) -> list[bool | None]:
    """A decomposition that did not come back is one claim of unknown standing."""
    return [None] if claims is None else [judge.supported(text, claim) for claim in claims]


def _grid(judge: Judge, claims: list[str] | None, texts: Sequence[str]) -> list[list[bool | None]]:
    if claims is None:
        return [[None] * len(texts)]
    return [[judge.supported(text, claim) for text in texts] for claim in claims]


def _label(found: dict[str, Any] | None) -> Verdict:
    return Verdict(None) if found is None else Verdict(found["verdict"], reason=found.get("reason", ""))
