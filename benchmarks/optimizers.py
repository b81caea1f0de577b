"""DSPy's own optimizers on a model whose truth is known: what they report, what is true, and what the audit says.

``python -m benchmarks.optimizers [--seeds 13] [--write]`` runs BootstrapFewShotWithRandomSearch, GEPA, MIPROv2 and
SIMBA on a scripted model, right about a question with a chance of its own; which questions depends on the prompt. In
half of the optimizations no prompt is better than another; in the others some prompts are better by the gain. The
truth is a test of 1,000 fresh questions. The audit reads what the optimizer left, without a call, and then makes the
fresh proof on 100 other questions. ``--embedded 10`` does the same with the embedded model and languages of sentences.
``--fixtures FOLDER`` writes small results of the installed DSPy, which tests read (``tests/tuning/audits``;
``.ci/dspy-matrix`` says how other versions are installed). ``--write`` puts the table into ``docs/audit-results.md``.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import logging
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dspy
import numpy as np
from scipy import stats

ROOT = Path(__file__).resolve().parents[1]
OPTIMIZERS = ("random search", "GEPA", "MIPROv2", "SIMBA")
VALIDATION, FRESH, TRUTH = 30, 100, 1000
FIELDS = (
    "new_instruction",
    "proposed_instruction",
    "observations",
    "summary",
    "program_description",
    "module_description",
    "description",
    "discussion",
    "module_advice",
)


def chance(*parts: object) -> float:
    """A number between 0 and 1 that these determine."""
    return int(hashlib.md5("|".join(map(str, parts)).encode()).hexdigest()[:8], 16) / 2**32


class Scripted(dspy.BaseLM):
    """Right in half of the questions; a prompt that is not the first one is better by the gain, if its luck has it."""

    def __init__(self, gain: float) -> None:
        super().__init__("scripted", cache=False)
        self.gain = gain

    def forward(self, prompt: Any = None, messages: Any = None, **options: Any) -> Any:
        """Answer a question, or write a new instruction."""
        texts = [str(message["content"]) for message in messages or [{"content": prompt}]]
        question = re.search(r"item (\d+)", texts[-1])
        if len(texts) > 1 and question and "[[ ## q ## ]]" in texts[-1]:
            head = json.dumps(texts[:-1])
            better = self.gain if (len(texts) > 2 or "Variant" in head) and chance("good", head) < 0.7 else 0.0
            share = (0.15 if chance("easy", question[1]) < 0.5 else 0.85 - 2 * better) + better
            share = min(0.95, share + better) if share < 0.5 else share + better
            text = (
                f"[[ ## a ## ]]\n{question[1] if chance(question[1], head) < share else 'x'}\n\n[[ ## completed ## ]]"
            )
        else:
            variant = f"Answer the question. Variant {chance(*texts):.6f}"
            text = "\n\n".join(f"[[ ## {name} ## ]]\n{variant}" for name in FIELDS) + "\n\n[[ ## completed ## ]]"
            if "json" in " ".join(texts).lower():
                text = json.dumps(dict.fromkeys(FIELDS, variant))
        message = SimpleNamespace(content=text, tool_calls=None, reasoning_content=None)
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason="stop")], usage=usage, model="m")


def example(index: int) -> dspy.Example:
    """A question, whose words are its own: questions that differ in a digit would be leaks of each other."""
    words = " ".join(hashlib.md5(f"{index} {i}".encode()).hexdigest() for i in range(2))
    return dspy.Example(q=f"item {index} {words}", a=str(index)).with_inputs("q")


def right(gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None) -> float:
    """Whether the answer is right."""
    return float(str(pred.a).strip() == gold.a)


def feedback(gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None) -> Any:
    """The same as GEPA wants it."""
    score = right(gold, pred)
    return dspy.Prediction(score=score, feedback="right" if score else "wrong")


def optimized(name: str, student: Any, train: list[Any], val: list[Any], seed: int, size: int = 16) -> Any:
    """What an optimizer returns."""
    if name == "random search":
        search = dspy.BootstrapFewShotWithRandomSearch(
            metric=right, num_candidate_programs=size, max_bootstrapped_demos=3, max_labeled_demos=3, num_threads=1
        )
        return search.compile(student, trainset=train, valset=val)
    if name == "GEPA":
        calls = {"max_metric_calls": len(val) * (size - 3), "reflection_minibatch_size": 6, "track_stats": True}
        gepa = dspy.GEPA(metric=feedback, reflection_lm=dspy.settings.lm, num_threads=1, seed=seed, **calls)
        return gepa.compile(student, trainset=train, valset=val)
    if name == "MIPROv2":
        few = {"max_bootstrapped_demos": 2, "max_labeled_demos": 2, "num_threads": 1}
        mipro = dspy.MIPROv2(
            metric=right, prompt_model=dspy.settings.lm, auto=None, num_candidates=6, seed=seed, verbose=False, **few
        )
        return mipro.compile(student, trainset=train, valset=val, num_trials=10, minibatch=False, seed=seed)
    simba = dspy.SIMBA(metric=right, bsize=10, num_candidates=4, max_steps=4, max_demos=2, num_threads=1)
    return simba.compile(student, trainset=val, seed=seed)


def value(program: Any, examples: list[Any]) -> float:
    """The share of right answers."""
    evaluate = dspy.Evaluate(devset=examples, metric=right, num_threads=1, display_progress=False)
    return float(evaluate(program).score) / 100


@cache
def before(gain: float, seed: int) -> float:
    """The truth of the program as it is, which all optimizers of a seed start from."""
    return value(dspy.Predict("q -> a"), parts_of(seed)["truth"])


def parts_of(seed: int) -> dict[str, list[Any]]:
    """The questions of a seed."""
    sizes = {"train": 40, "val": VALIDATION, "fresh": FRESH, "truth": TRUTH}
    starts = {part: 10_000 * (seed + 1) + 2000 * place for place, part in enumerate(sizes)}
    return {part: [example(starts[part] + i) for i in range(n)] for part, n in sizes.items()}


def reported(name: str, program: Any) -> tuple[float, bool | None]:
    """The gain that the optimizer's scores say, and whether a naive paired t test says "better" (None without)."""
    from goldassay.tuning.audit import from_program

    result = from_program(program)
    if name in ("MIPROv2", "SIMBA"):
        best = max(row["score"] for row in program.candidate_programs)
        if name == "SIMBA":
            return float(best), None
        return (best - program.trial_logs[1]["full_eval_score"]) / 100, None
    candidates = {candidate.name: candidate.scores for candidate in result.candidates}
    after, before = (np.array(list((candidates[key or ""] or {}).values())) for key in (result.chosen, result.baseline))
    gaps = after - before
    error = max(gaps.std(ddof=1), 1e-9) / len(gaps) ** 0.5
    return float(gaps.mean()), bool(gaps.mean() / error > stats.t.ppf(0.95, len(gaps) - 1))


def one(name: str, gain: float, seed: int) -> dict[str, Any]:
    """An optimization with the scripted model, its truth, and what the audit says."""
    import goldassay
    from goldassay.tuning.audit import prove

    parts = parts_of(seed)
    lm = Scripted(gain)
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        student = dspy.Predict("q -> a")
        after = optimized(name, student, parts["train"], parts["val"], seed)
        reported_gain, naive = reported(name, after)
        if name == "SIMBA":
            reported_gain -= value(student, parts["val"])
        truth = value(after, parts["truth"]) - before(gain, seed)
        audit = goldassay.audit(after, gold=parts["val"])
        fresh = prove(student, after, parts["fresh"], right)
    return {
        "name": name,
        "gain": gain,
        "said": reported_gain,
        "naive": naive,
        "truth": truth,
        "audit": audit,
        "fresh": fresh,
    }


def table(rows: list[dict[str, Any]]) -> list[str]:
    """A row for each optimizer and kind of truth."""
    lines = [
        "| optimizer | can it help | runs | reported gain | true gain | naive test: helped | audit | fresh proof |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["name"] for row in rows):
        for gain in sorted({row["gain"] for row in rows}):
            part = [row for row in rows if (row["name"], row["gain"]) == (name, gain)]
            naive = [row["naive"] for row in part if row["naive"] is not None]
            texts = [
                ", ".join(f"{count} {word}" for word, count in Counter(map(short, verdicts)).most_common())
                for verdicts in ([row["audit"] for row in part], [row["fresh"] for row in part])
            ]
            means = [f"{np.mean([row[key] for row in part]):+.3f}" for key in ("said", "truth")]
            cells = [
                name,
                "yes" if gain else "no",
                len(part),
                *means,
                f"{sum(naive)} of {len(naive)}" if naive else "–",
            ]
            lines.append(f"| {' | '.join(map(str, [*cells, *texts]))} |")
    return lines


def short(audit: Any) -> str:
    """The verdict without its number."""
    return "no difference" if audit.verdict.startswith("no difference") else str(audit.verdict)


def wrong(rows: list[dict[str, Any]]) -> tuple[int, int]:
    """How often "better" or "worse" was false, by the truth on fresh examples, and how often it was said."""
    verdicts = [(row["truth"], word) for row in rows for word in (short(row["audit"]), short(row["fresh"]))]
    claims = [(truth, word) for truth, word in verdicts if word in ("better", "worse")]
    return sum(truth <= 0 if word == "better" else truth >= 0 for truth, word in claims), len(claims)


def embedded(times: int) -> list[dict[str, Any]]:
    """Optimizations with the embedded model: which language a sentence is in, 10 to choose on, 30 for the proof."""
    import goldassay
    from goldassay.gold import load
    from goldassay.models import lm as models
    from goldassay.tuning.audit import prove

    pages = load("heritage", task="classification").classification.all
    with_language = [page for page in pages if page.get("language")]
    names = sorted({str(page.language) for page in with_language})
    signature = dspy.Signature(f"text -> a: Literal[{', '.join(map(repr, names))}]", "Name the language.")
    examples = [dspy.Example(text=page.text[:90], a=str(page.language)).with_inputs("text") for page in with_language]
    program, rows = dspy.Predict(signature), []
    model = models.for_program(program)
    with dspy.context(lm=model.lm, adapter=model.adapter):
        for seed in range(times):
            pool = [examples[i] for i in np.random.default_rng(seed).permutation(len(examples))]
            train, val, fresh, name = pool[:8], pool[8:18], pool[18:48], "random search"
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                after = optimized(name, program, train, val, seed, size=1)
                reported_gain, naive = reported(name, after)
                audit, proof = goldassay.audit(after, gold=val), prove(program, after, fresh, right)
            row = {"name": name, "gain": 1.0, "said": reported_gain, "naive": naive, "truth": proof.naive_gain}
            rows.append({**row, "audit": audit, "fresh": proof})
            print(
                seed,
                name,
                f"reported {reported_gain:+.3f}, fresh {proof.naive_gain:+.3f}:",
                audit.verdict,
                "|",
                proof.verdict,
            )
    return rows


def fixtures(folder: Path) -> None:
    """Small results of real optimizers, by the version of DSPy."""
    import goldassay

    folder.mkdir(parents=True, exist_ok=True)
    train, val = [example(i) for i in range(20)], [example(1000 + i) for i in range(12)]
    with dspy.context(lm=Scripted(0.0), adapter=dspy.ChatAdapter()):
        for name in OPTIMIZERS:
            after = optimized(name, dspy.Predict("q -> a"), train, val, 0, size=4 if name == "random search" else 20)
            file = folder / f"{name.replace(' ', '-').lower()}-{dspy.__version__}.json"
            goldassay.save_result(after, file)
            with contextlib.suppress(AttributeError):  # before DSPy 3.3 its to_dict() raises
                details = json.dumps(after.detailed_results.to_dict(), default=list)
                file.with_name(f"to-dict-{dspy.__version__}.json").write_text(details, encoding="utf-8")


def main(arguments: Sequence[str] = ()) -> None:
    """Run, print the table, and fail if a verdict was wrong too often."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=13, help="of each optimizer, with and without a gain")
    parser.add_argument("--embedded", type=int, default=0, metavar="N", help="N optimizations of the embedded model")
    parser.add_argument("--fixtures", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    if options.fixtures:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            fixtures(options.fixtures)
        return
    started = time.perf_counter()
    if options.embedded:
        rows = embedded(options.embedded)
    else:
        rows = []
        for name in OPTIMIZERS:
            for gain in (0.0, 0.25):
                for seed in range(options.seeds):
                    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                        rows.append(one(name, gain, seed))
    lines = table(rows)
    false, claims = wrong(rows)
    lines += ["", f"Of {claims} verdicts that named a side, {false} had the wrong one by the truth on fresh examples."]
    print("\n".join(lines), f"\n{time.perf_counter() - started:.0f} s")
    if options.write:
        from benchmarks.audit import put

        put("embedded" if options.embedded else "optimizers", lines)


if __name__ == "__main__":
    main(sys.argv[1:])
