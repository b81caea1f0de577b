"""A run as a log of Inspect (inspect-ai), which ``inspect view`` opens and ``read_eval_log`` reads.

Each measure is a scorer: a sample's score is the value of that example, and the metrics ``corpus``, ``low``, ``high``
are the run's value and the ends of its interval.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any

from goldassay import jsonl
from goldassay.running.rows import facets
from goldassay.running.run import Run

SUMMARY = ("id", "epoch", "input", "target", "scores", "metadata")  # what the list of samples shows


def to_inspect(run: Run) -> bytes:
    """A run as an ``.eval`` file: a zip of a header, summaries and samples as JSON.

    >>> import dspy
    >>> from goldassay.running import evaluate
    >>> gold = [dspy.Example(text=word, label="A").with_inputs("text") for word in ("a", "b")]
    >>> run = evaluate(lambda text: {"label": text.upper()}, gold, lambda gold, pred: gold.label == pred.label)
    >>> zipfile.ZipFile(io.BytesIO(to_inspect(run))).namelist()
    ['samples/0_epoch_1.json', 'samples/1_epoch_1.json', 'summaries.json', 'header.json']
    """
    about, key = run.about, str(run.about["gold"].get("sha256") or "")[:22]
    created = about.get("started") or "1970-01-01T00:00:00+00:00"
    model = str(about.get("lm") or "none/none")
    scores = []
    for name, value in run.values.items():
        ends = run.intervals[name]
        metrics = {"corpus": value, "low": ends.low, "high": ends.high}
        state = {each: {"name": each, "value": number} for each, number in metrics.items()}
        scores.append({"name": name, "scorer": name, "metrics": state})
    failed = run.folded.failed
    header = {
        "version": 2,
        "status": "success" if about.get("status") == "finished" else "cancelled",
        "eval": {
            "eval_id": key,
            "run_id": key,
            "task_id": key,
            "created": created,
            "task": run.name,
            "dataset": {"samples": len(run.rows), "sample_ids": [str(row["id"]) for row in run.rows]},
            "model": model,
            "config": {"epochs": run.repeats},
            "packages": about.get("versions") or {},
            "metadata": {"conventions": run.summary()["conventions"], "unit": run.unit},
        },
        "results": {"total_samples": len(run.rows), "completed_samples": len(run.rows) - failed, "scores": scores},
        "stats": {"started_at": created, "completed_at": about.get("finished") or created},
    }
    content, summaries = io.BytesIO(), []
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for row in run.answers:
            sample = _sample(row, run, model)
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", jsonl.dumps(sample))
            summaries.append({name: sample[name] for name in SUMMARY} | {"completed": True})
        archive.writestr("summaries.json", jsonl.dumps(summaries))
        archive.writestr("header.json", jsonl.dumps(header))
    return content.getvalue()


def _sample(row: Mapping[str, Any], run: Run, model: str) -> dict[str, Any]:
    inputs, errors = row.get("inputs") or {}, [str(error.get("message", "")) for error in row.get("errors", ())]
    evidence = run.zero.from_state(row["tallies"])
    scores = {name: {"value": float(tally.value)} for name, tally in evidence.items() if tally.weight > 0}
    for score in scores.values():
        score["explanation"] = "\n".join(errors)
    answer = jsonl.dumps(row["prediction"]) if row.get("prediction") else ""
    message = {"role": "assistant", "content": answer, "source": "generate"}
    return {
        "id": str(row["id"]),
        "epoch": row.get("repeat", 1),
        "input": str(next(iter(inputs.values()))) if len(inputs) == 1 else jsonl.dumps(inputs),
        "target": jsonl.dumps(row.get("gold") or {}),
        "messages": [message],
        "output": {"model": model, "choices": [{"message": message, "stop_reason": "stop"}], "completion": answer},
        "scores": scores,
        "metadata": {**facets(row), **({"document": row["document"]} if "document" in row else {})},
        "total_time": row.get("latency_s"),
        **({"error": {"message": row["error"], "traceback": "", "traceback_ansi": ""}} if row.get("error") else {}),
    }
