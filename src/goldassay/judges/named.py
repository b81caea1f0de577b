"""A judge by its name, as ``--judge-lm`` gives it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.judges.judge import Judge
from goldassay.judges.store import Verdicts

ENTAILMENT = "nli:"


def named(name: str, *, verdicts: Path | str | None = None, version: str = "1", **options: Any) -> Any:
    """The judge of a model's name, which `goldassay.lm.resolve` knows; ``nli:MODEL`` is an entailment model.

    ``verdicts`` is a file that keeps what was said (see `goldassay.judges.store`); ``options`` go to the model. Local
    models answer under a schema (constrained output), with short prompts.

    >>> str(named("openai/gpt-4o-mini"))
    'openai/gpt-4o-mini@1'
    """
    if not name.strip():
        raise GoldassayError(
            "a judge needs a model's name, such as openai/gpt-4o-mini, local/smollm2-135m or nli:MODEL"
        )
    if name.startswith(ENTAILMENT):
        from goldassay.judges.entailment import EntailmentJudge
        from goldassay.judges.nli import NLI

        return EntailmentJudge(NLI(name.removeprefix(ENTAILMENT), **options), version=version)
    from goldassay import lm

    model = lm.resolve(name, **options)
    store = None if verdicts is None else Verdicts(verdicts)
    return Judge(model, adapter=lm.adapter(model), version=version, verdicts=store)
