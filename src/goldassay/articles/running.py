"""A run: articles through the evaluation, rows on disk as they finish, the result folded from the rows."""

from __future__ import annotations

import hashlib
import inspect
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
from goldassay.running.progress import Bar
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
) -> dict[str, Any]:
    """Evaluate what the rows in ``file`` do not hold yet, and fold all of them into a result."""
    from goldassay.lm import Model, for_program

    asks = profile.lm is not None or hasattr(program, "predictors")  # any other program needs no model
    model = for_program(program, profile.lm) if asks else Model()
    evaluation = Evaluation(
        program,
        sources.wikipedia,
        sources.wikidata,
        scoring,
        profile.language,
        lambda: _context(model),
    )
    identity = {
        "program": profile.program,
        "version": fingerprint(program),
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
    started, done, counts = time.perf_counter(), len(asked) - len(left), Counts()
    try:
        with Bar(len(asked), done) as bar:
            for row in evaluation.rows(left, parallel):
                kept.add(row)
                done += 1
                for values in row["score"]["properties"].values() if "score" in row else ():
                    counts += Counts(*values)
                bar.show(done, Evidence({"f1": counts}))
    finally:
        kept.close()
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


def fingerprint(program: Any) -> str:
    """A hash of a program's prompts and of the file that it is written in: rows of another version are not its own."""
    made = hashlib.sha256()
    if hasattr(program, "named_predictors") and program.named_predictors():
        from goldassay.running.identity import fingerprint as prompts

        made.update(prompts(program).encode())
    try:
        source = inspect.getsourcefile(program if inspect.isfunction(program) else type(program))
        made.update(Path(source or "").read_bytes())
    except (OSError, TypeError):
        made.update(repr(type(program)).encode())  # made at run time: there is no file
    return made.hexdigest()[:16]


def _context(model: Any) -> AbstractContextManager[Any]:
    """What a language model needs in the thread that asks it."""
    if model.lm is None:
        return nullcontext()
    import dspy

    around = {name: value for name, value in (("lm", model.lm), ("adapter", model.adapter)) if value is not None}
    found: AbstractContextManager[Any] = dspy.context(**around)
    return found
