"""promptfoo: the file of ``promptfoo eval -o results.json``.

Each provider with each prompt is a system. The metric is ``pass``, whether all assertions of a test hold; ``score`` and
the assertions' own metrics stand beside it. Tests of the same variables are repeats (``--repeat``).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from goldassay.fields import identity
from goldassay.running.logs.system import MOST, Sample, System

ERROR = 2  # the failureReason of a test whose provider failed
LONG = 40  # characters of a prompt's label that is not a name


def systems(content: Any, file: Path) -> list[System] | None:
    """A system for each provider and prompt; None if this is no file of promptfoo."""
    body = content.get("results") if isinstance(content, dict) else None
    if not isinstance(body, dict) or not isinstance(body.get("results"), list) or "stats" not in body:
        return None
    groups: dict[object, list[dict[str, Any]]] = {}
    for result in body["results"]:
        key = result.get("promptIdx", (_provider(result), (result.get("prompt") or {}).get("raw")))
        groups.setdefault(key, []).append(result)
    metrics = {place: prompt.get("metrics") or {} for place, prompt in enumerate(body.get("prompts") or ())}
    started = (content.get("metadata") or {}).get("evaluationCreatedAt") or body.get("timestamp")
    out = []
    for (key, results), name in zip(groups.items(), _names(list(groups.values())), strict=True):
        samples = _samples(results)
        named = frozenset(name for sample in samples for name in sample.values) - {"pass"}
        means = _means(metrics.get(key, {}), len(samples)) if isinstance(key, int) else {}
        about = {"started": started} if isinstance(started, str) else {}
        out.append(System("promptfoo", name, samples, means, secondary=named, lm=_provider(results[0]), about=about))
    return out


def _provider(result: Mapping[str, Any]) -> str:
    provider = result.get("provider") or ""
    return provider if isinstance(provider, str) else str(provider.get("label") or provider.get("id") or "")


def _names(groups: Sequence[Sequence[Mapping[str, Any]]]) -> list[str]:
    """A name for each group: its provider, and the prompt where there are several; numbers tell equal ones apart."""
    labels = [str((results[0].get("prompt") or {}).get("label") or "") for results in groups]
    prompts = list(dict.fromkeys(labels))
    names = []
    for results, label in zip(groups, labels, strict=True):
        short = label if 0 < len(label) <= LONG and "{{" not in label else f"prompt {prompts.index(label) + 1}"
        names.append(_provider(results[0]) + (f", {short}" if len(prompts) > 1 else ""))
    return [name if names.count(name) == 1 else f"{name} #{place}" for place, name in enumerate(names, 1)]


def _samples(results: Sequence[Mapping[str, Any]]) -> list[Sample]:
    seen: Counter[str] = Counter()
    places: dict[str, int] = {}
    samples = []
    for result in sorted(results, key=lambda result: int(result.get("testIdx") or 0)):
        test = result.get("testCase") or {}
        variables = result.get("vars") or test.get("vars") or {}
        question = json.dumps([variables, test.get("description")], sort_keys=True, default=str)
        seen[question] += 1
        place = places.setdefault(question, len(places))
        samples.append(_sample(result, variables, test, place, seen[question], question))
    return samples


def _sample(
    result: Mapping[str, Any], variables: Mapping[str, Any], test: Mapping[str, Any], place: int, repeat: int, key: str
) -> Sample:
    grading, response = result.get("gradingResult") or {}, result.get("response") or {}
    reason = result.get("failureReason", ERROR if result.get("error") and not grading else 0)
    error = str(result.get("error") or "the provider failed") if reason == ERROR else ""
    passed = bool(result.get("success"))
    metadata = {**variables, **(test.get("metadata") or {})}
    return Sample(
        identity(metadata, place),
        {"pass": float(passed), "score": float(result.get("score") or 0.0), **(result.get("namedScores") or {})},
        question=key,
        inputs=variables,
        prediction={} if error else {"output": response.get("output") if isinstance(response, Mapping) else response},
        metadata=metadata,
        repeat=repeat,
        error=" ".join(error.split())[:MOST],
        reason="" if passed else " ".join(str(grading.get("reason") or "").split())[:MOST],
        seconds=float(result.get("latencyMs") or 0) / 1000,
        usage=result.get("tokenUsage") or (response.get("tokenUsage") if isinstance(response, Mapping) else {}) or {},
    )


def _means(metrics: Mapping[str, Any], n: int) -> dict[str, float]:
    """promptfoo's sums as means; an assertion that weighs more than others is left out."""
    if not metrics:
        return {}
    counts = metrics.get("namedScoresCount") or {}
    same = {name for name, weight in (metrics.get("namedScoreWeights") or counts).items() if weight == counts.get(name)}
    named = {name: total / counts[name] for name, total in (metrics.get("namedScores") or {}).items() if name in same}
    return {"pass": metrics["testPassCount"] / n, "score": metrics["score"] / n, **named}
