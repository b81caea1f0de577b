"""An audit of a judge without any label: planted faults, orders in the texts, pairs swapped, repeats; with pass marks.

A check is passed when the share that went well reaches its mark (`goldassay.judges.audit.checks`); it is *sure* when
the whole interval (Wilson's) lies on one side of the mark. Unknown verdicts are left out and counted.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import read
from goldassay.judges.ask.judge import Judge
from goldassay.judges.audit.checks import OF_SUPPORT, TESTS, AuditCase, Outcome, Probe, others
from goldassay.judges.people.rates import rate
from goldassay.statistics.intervals import Interval


@dataclass(frozen=True, slots=True)
class Check:
    """One row of an audit; ``rate`` is ``None`` where nothing could be tested."""

    name: str
    rate: Interval | None
    mark: float
    unknown: int = 0
    skipped: int = 0

    @property
    def passed(self) -> bool | None:
        """Whether the mark is reached; ``None`` where nothing was tested."""
        return None if self.rate is None else self.rate.value >= self.mark

    @property
    def sure(self) -> bool:
        """Whether the whole interval lies on one side of the mark."""
        return self.rate is not None and (self.rate.low >= self.mark or self.rate.high < self.mark)

    def state(self) -> dict[str, object]:
        """As JSON."""
        return {**asdict(self), "passed": self.passed, "sure": self.sure}


@dataclass(frozen=True, slots=True)
class JudgeAudit:
    """All checks of a judge."""

    judge: str
    probes: int
    checks: Sequence[Check]
    warnings: Sequence[str] = field(default_factory=tuple)

    @property
    def passed(self) -> bool:
        """Whether every check that could be made is passed, and one at least could."""
        made = [check.passed for check in self.checks if check.passed is not None]
        return bool(made) and all(made)

    def state(self) -> dict[str, object]:
        """As JSON."""
        checks = [check.state() for check in self.checks]
        about = {"judge": self.judge, "probes": self.probes, "passed": self.passed}
        return {**about, "checks": checks, "warnings": list(self.warnings)}


def audit(
    judge: Judge,
    probes: Sequence[Probe],
    *,
    only: Iterable[str] = (),
    marks: Mapping[str, float] | None = None,
    threads: int = 1,
    level: float = 0.95,
    tell: Callable[[int], None] | None = None,
) -> JudgeAudit:
    """Put a judge to the checks.

    Args:
        judge: a judge; what is no `Judge` (entailment) is put to the checks of support alone.
        probes: questions with an answer that stands in a text.
        only: the names of checks; all without them.
        marks: other pass marks, by name.
        threads: how many cases at once.
        level: of the intervals.
        tell: hears how many cases are done.

    Raises:
        GoldassayError: there are no probes, or no check of a name.
    """
    if not probes:
        raise GoldassayError("an audit needs probes: questions with an answer that stands in a text")
    chosen = list(only) or list(TESTS if isinstance(judge, Judge) else OF_SUPPORT)
    for name in [*chosen, *(marks or {})]:
        if name not in TESTS:
            raise GoldassayError(f"no check {name!r}; there are {', '.join(TESTS)}")
    cases = [AuditCase(probe, other, n) for n, (probe, other) in enumerate(zip(probes, others(probes), strict=True))]
    checks, done = [], 0
    with ThreadPoolExecutor(threads) as pool:
        for name in chosen:
            mark, test = TESTS[name]
            found = []
            for outcome in pool.map(lambda case, test=test: test(judge, case), cases):
                found.append(outcome)
                done += 1
                if tell:
                    tell(done)
            checks.append(_check(name, found, (marks or {}).get(name, mark), level))
    told = [judge.warning] if judge.warning else []
    return JudgeAudit(str(judge), len(probes), checks, (*told, *_warnings(checks)))


def _check(name: str, found: Sequence[Outcome], mark: float, level: float) -> Check:
    counted = Counter(found)
    made = [outcome is Outcome.GOOD for outcome in found if outcome in (Outcome.GOOD, Outcome.BAD)]
    return Check(name, rate(made, level), mark, counted[Outcome.UNKNOWN], counted[Outcome.SKIPPED])


def _warnings(checks: Sequence[Check]) -> list[str]:
    absent = [check.name for check in checks if check.rate is None]
    return [f"nothing could be tested of: {', '.join(absent)}"] if absent else []


def probes(gold: Any, *, limit: int | None = None, seed: int = 0) -> list[Probe]:
    """Probes from a gold set with answering: questions that have an answer, with the texts of their documents.

    Texts are a question's own ``context``, the set's passages, or the texts that other tasks have under the same id.
    ``limit`` takes a seeded sample.
    """
    part = gold.task("answering")
    texts = {str(row["id"]): row["text"] for task in gold.tasks.values() for row in task.records if "text" in row}
    texts |= {row["id"]: row["text"] for row in part.passages}
    out = []
    for record in part.records:
        text = record.get("context") or " ".join(texts[d] for d in record.get("documents") or () if d in texts)
        answers = read(record, "answers", None) or []
        answer = record.get("reference") or (f"{record['question']} {answers[0]}" if answers else "")
        if text and answer:
            out.append(Probe(str(record["id"]), record["question"], answer, text, record.get("language") or "en"))
    if not out:
        raise DataError("no question with an answer and a text (context, passages, or documents of other tasks)")
    return out if limit is None or limit >= len(out) else random.Random(seed).sample(out, limit)
