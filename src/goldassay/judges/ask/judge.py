"""A judge: a bound language model that answers the questions of `goldassay.judges.ask.questions` with verdicts.

How it asks, and what happens to answers that cannot be read, stands in `goldassay.judges.ask.model`. `named` gives the
judge of a model's name, as ``--judge-lm`` has it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, Literal

import dspy

from goldassay import jsonl
from goldassay.exceptions import GoldassayError
from goldassay.judges.ask import questions as asks
from goldassay.judges.ask.model import BoundModel, Fields, stands
from goldassay.measures.answering.claims import TABLES, judge_claims
from goldassay.measures.judged import Verdict


class Judge(BoundModel):
    """A judge with its own model, which never follows the program's context."""

    def claims(self, text: str) -> list[str] | None:
        """The claims of a text; an empty text has none."""
        if not text.strip():
            return []
        found = self.ask(asks.Claims, text=text)
        return None if found is None else [claim for claim in found["claims"] if claim.strip()]

    def support(self, text: str, claim: str) -> Verdict:
        """Whether a text supports a claim. A verdict whose quote does not stand in the text is asked for again."""
        if not text.strip():
            return Verdict("not_stated")

        def quoted(found: Fields) -> str:
            if found["verdict"] == "not_stated" or stands(found["quote"], text):
                return ""
            return f"the quote {found['quote'][:80]!r} does not stand in the text"

        found = self.ask(asks.Supports, quoted, text=text, claim=claim)
        if found is None:
            return Verdict(None)
        return Verdict(found["verdict"], "" if found["verdict"] == "not_stated" else found["quote"])

    def supported(self, text: str, claim: str) -> bool | None:
        """The same as a truth value."""
        label = self.support(text, claim).label
        return None if label is None else label == "supported"

    def entities(self, text: str) -> list[str] | None:
        """The names in a text; one that does not stand in it is asked for again."""
        if not text.strip():
            return []

        def there(found: Fields) -> str:
            invented = [name for name in found["entities"] if not stands(name, text)]
            return f"the name {invented[0][:80]!r} does not stand in the text" if invented else ""

        found = self.ask(asks.Entities, there, text=text)
        return None if found is None else list(dict.fromkeys(found["entities"]))

    def relevance(self, question: str, answer: str) -> Verdict:
        """``full``, ``partial``, ``none`` or ``evasion``; an empty answer evades."""
        if not answer.strip():
            return Verdict("evasion")
        return _label(self.ask(asks.Relevance, question=question, answer=answer))

    def rubric(self, levels: Mapping[str, str], question: str, answer: str) -> Verdict:
        """The name of a level; another name than those is asked for again, or cannot come, under a schema."""
        named = {folded(name): name for name in levels}

        def known(found: Fields) -> str:
            return "" if folded(found["verdict"]) in named else f"the rubric has no level {found['verdict'][:80]!r}"

        signature: Any = asks.Rubric
        if isinstance(self.adapter, dspy.JSONAdapter):
            signature = signature.with_updated_fields("verdict", type_=Literal[tuple(levels)])
        verdict = _label(self.ask(signature, known, rubric=asks.levels_told(levels), question=question, answer=answer))
        return verdict if verdict.label is None else Verdict(named[folded(verdict.label)], reason=verdict.reason)

    def says(self, signature: type[dspy.Signature], **inputs: str) -> Verdict:
        """The verdict of any signature that has a ``verdict``."""
        return _label(self.ask(signature, **inputs))

    def criterion(self, criterion: str, question: str, answer: str) -> Verdict:
        """``yes`` or ``no``."""
        return _label(self.ask(asks.Criterion, criterion=criterion, question=question, answer=answer))

    def prefer(self, question: str, first: str, second: str) -> Verdict:
        """``first``, ``second`` or ``tie``, asked in both orders; orders that disagree make a tie."""
        here = _label(self.ask(asks.Preference, question=question, first=first, second=second))
        there = _label(self.ask(asks.Preference, question=question, first=second, second=first))
        if here.label is None or there.label is None:
            return Verdict(None)
        same = {"first": "second", "second": "first", "tie": "tie"}[there.label] == here.label
        return here if same else Verdict("tie", reason="the two orders disagree")

    def type_plausible(self, text: str, mention: str, type: str) -> Verdict:
        """``yes`` or ``no``."""
        return _label(self.ask(asks.TypePlausibility, text=text, mention=mention, type=type))

    def link_plausible(self, text: str, mention: str, entity: str) -> Verdict:
        """``yes`` or ``no``."""
        return _label(self.ask(asks.LinkPlausibility, text=text, mention=mention, entity=entity))

    def supports(self, answer: str, gold: str | None, contexts: Sequence[str] | None) -> dict[str, Any]:
        """Claims of both answers and the four tables of `goldassay.measures.answering.claims`, as far as asked."""
        tables = [
            t for t in TABLES if (gold is not None or "gold" not in t) and (contexts is not None or "context" not in t)
        ]
        made = judge_claims(self, answer, gold, contexts, tables)
        claims = {"answer_claims": list(made.answer), "gold_claims": list(made.gold)}
        return {"answer": answer, **claims, "support": made.support.state()}


def _label(found: Fields | None) -> Verdict:
    return Verdict(None) if found is None else Verdict(found["verdict"], reason=found.get("reason") or "")


def folded(name: str) -> str:
    """A level's name without the marks that models put around it.

    >>> folded(' "Good". '), folded("“3”")
    ('good', '3')
    """
    return name.strip(" \n.`\"'“”„‘’«»").casefold()


ENTAILMENT = "nli:"


def named(name: str, *, verdicts: Path | str | None = None, version: str = "1", **options: Any) -> Any:
    """The judge of a model's name, which `goldassay.lm.resolve` knows; ``nli:MODEL`` is an entailment model.

    ``verdicts`` is a file that keeps what was said (see `goldassay.judges.ask.judge`); ``options`` go to the model.
    Local models answer under a schema (constrained output), with short prompts.

    >>> str(named("openai/gpt-4o-mini"))
    'openai/gpt-4o-mini@1'
    """
    if not name.strip():
        raise GoldassayError(
            "a judge needs a model's name, such as openai/gpt-4o-mini, local/smollm2-135m or nli:MODEL"
        )
    if name.startswith(ENTAILMENT):
        from goldassay.judges.nli import NLI, EntailmentJudge

        return EntailmentJudge(NLI(name.removeprefix(ENTAILMENT), **options), version=version)
    from goldassay import lm

    model = lm.resolve(name, **options)
    store = None if verdicts is None else Verdicts(verdicts)
    return Judge(model, adapter=lm.adapter(model), version=version, verdicts=store)


class Verdicts(MutableMapping[str, Fields | None]):
    """Verdicts in a file, so that a run that is begun again asks for none twice.

    ``Judge(lm, verdicts=Verdicts("runs/verdicts.jsonl"))`` takes it.

    A mapping that is written as it grows, one JSON object a line: the key of a question (a hash of judge, version,
    model, signature and inputs) and the fields of the answer, ``null`` for an unknown one. A last line that was cut
    off is overlooked.
    """

    def __init__(self, file: Path | str) -> None:
        self.file = Path(file)
        self._found: dict[str, Fields | None] = {}
        self._lock = threading.Lock()
        self._log: jsonl.Log | None = None
        if self.file.is_file():
            self._read()

    def __reduce__(self) -> tuple[type[Verdicts], tuple[Path]]:
        return Verdicts, (self.file,)  # elsewhere the file is read anew, and several processes may write to it

    def _read(self) -> None:
        for row in jsonl.rows(self.file, what="a verdict: expected {key, fields}", check=_checked):
            self._found[row["key"]] = row["fields"]

    def __getitem__(self, key: str) -> Fields | None:
        return self._found[key]

    def __setitem__(self, key: str, fields: Fields | None) -> None:
        with self._lock:
            self._found[key] = fields
            if self._log is None:
                self._log = jsonl.Log(self.file)
        self._log.add({"key": key, "fields": fields})

    def __delitem__(self, key: str) -> None:
        raise GoldassayError(f"a verdict is not taken back; delete {self.file} to ask for all of them again")

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._found))

    def __len__(self) -> int:
        return len(self._found)


def _checked(row: Fields) -> None:
    if not isinstance(row["key"], str) or not isinstance(row["fields"], (dict, type(None))):
        raise TypeError


__all__ = ["Judge", "Verdict", "Verdicts", "folded", "named"]
