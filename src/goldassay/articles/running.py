"""A run over articles: worked through by the loop that examples go through, its result folded from the rows on disk."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from goldassay import __version__
from goldassay.articles import results, rows
from goldassay.articles.benchmark import Asked
from goldassay.articles.evaluating import Evaluation
from goldassay.articles.profile import Profile, Sources
from goldassay.articles.scoring import Scoring
from goldassay.exceptions import GoldassayError, RunStopped
from goldassay.running.identity import code_hash, fingerprint
from goldassay.running.loop import Bar, Failures, Loop
from goldassay.running.secrets import known, models
from goldassay.score import Evidence
from goldassay.tally import Counts


def run(
    asked: Sequence[Asked],
    program: Any,
    sources: Sources,
    scoring: Scoring,
    metadata: Mapping[str, Any],
    file: Path,
    profile: Profile,
    parallel: int = 1,
    *,
    timeout: float | None = None,
    max_failures: float = 1.0,
) -> dict[str, Any]:
    """Evaluate what the rows in ``file`` do not hold yet, and fold all of them into a result.

    Args:
        asked: The articles.
        program: What reads them: called with ``text``, and ``title`` where it takes one.
        sources: Where articles and items come from.
        scoring: The conventions of the scoring.
        metadata: What else the result says of itself.
        file: The rows, which a run that was killed goes on with.
        profile: What the program, its model and the languages are called.
        parallel: How many articles are worked on at once.
        timeout: Seconds that one article may take.
        max_failures: The share of failed articles (after 20) at which the run stops; 1 lets everything fail.

    Raises:
        GoldassayError: ``file`` holds rows of another run.
        RunStopped: Going on makes no sense; the rows that are done are in ``file``.
    """
    from goldassay.lm import Model, for_program

    asks = profile.lm is not None or hasattr(program, "predictors")  # any other program needs no model
    model = for_program(program, profile.lm) if asks else Model()
    evaluation = Evaluation(
        program,
        sources.wikipedia,
        sources.wikidata,
        scoring,
        profile.language,
    )
    identity = {
        "program": profile.program,
        "version": fingerprint(program) if hasattr(program, "named_predictors") else None,
        "code": code_hash(program),
        "lm": model.name,
        "language": profile.language,
        "endpoint": sources.endpoint,
        "statements": sources.version,
        "table": scoring.table.fingerprint,
        "comparing": repr(scoring.comparing),
        "verdicts": hashlib.sha256(repr(sorted(scoring.verdicts.items())).encode()).hexdigest()[:16],
    }
    kept = rows.Rows(file, identity, known(*models(program), model.lm))
    left = [one for one in asked if one.key not in kept.done]
    started = time.perf_counter()
    if parallel < 1:
        raise GoldassayError(f"a run needs at least one thread, not {parallel}")
    loop = Loop(
        range(len(left)),
        lambda index, _: _made(evaluation.row(left[index])),
        lambda _, row: kept.add(row),
        bar=Bar(len(asked), len(asked) - len(left)),
        total=Evidence({"f1": Counts()}),
        done=len(asked) - len(left),
        watch=Failures(max_failures, "articles", worked=len(kept.done)),
        name="article_title",
        timeout=timeout,
        late=lambda index, seconds: _made(evaluation.late(left[index], seconds)),
    )
    try:
        with _context(model):
            why = loop.work(min(parallel, len(left)))
    finally:
        kept.close()
    if why:
        raise RunStopped(f"stopped after {loop.done} of {len(asked)} articles: {why}; the same command goes on")
    about = {
        "date": datetime.now(UTC).isoformat(),
        "goldassay_version": __version__,
        **metadata,
        "llm_model": model.name or "",
        "duration_seconds": round(time.perf_counter() - started, 3),
        "resumed_articles": len(asked) - len(left),
        "conventions": identity,
        "rows": file.name,
    }
    return results.folded(file, asked, about, scoring.table)


def _made(row: dict[str, Any]) -> tuple[Evidence, dict[str, Any]]:
    """A row with its evidence, as the loop takes it."""
    counts = Counts()
    for values in row["score"]["properties"].values() if "score" in row else ():
        counts += Counts(*values)
    return Evidence({"f1": counts}), row


def _context(model: Any) -> AbstractContextManager[Any]:
    """What a language model needs in the thread that asks it."""
    if model.lm is None:
        return nullcontext()
    import dspy

    around = {name: value for name, value in (("lm", model.lm), ("adapter", model.adapter)) if value is not None}
    found: AbstractContextManager[Any] = dspy.context(**around)
    return found
