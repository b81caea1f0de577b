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
from goldassay.running.run import Run

SUMMARY = ("id", "epoch", "input", "target", "scores", "metadata")  # what the list of samples shows


def to_inspect(run: Run) -> bytes:
    """A run as an ``.eval`` file: a zip of a header, summaries and samples as JSON.

    >>> import dspy
    >>> from goldassay.running.evaluate import evaluate
    >>> gold = [dspy.Example(text=word, label="A").with_inputs("text") for word in ("a", "b")]
    >>> run = evaluate(lambda text: {"label": text.upper()}, gold, lambda gold, pred: gold.label == pred.label)
    >>> zipfile.ZipFile(io.BytesIO(to_inspect(run))).namelist()
    ['samples/0_epoch_1.json', 'samples/1_epoch_1.json', 'summaries.json', 'header.json']
    """
    about = run.about
    head = {
        "created": about.get("started") or "1970-01-01T00:00:00+00:00",
        "task": run.name,
        "task_id": str(about["gold"].get("sha256")),
        "model": about.get("lm") or "none/none",
        "dataset": {"samples": len(run.rows), "sample_ids": [row["id"] for row in run.rows]},
        "config": {"epochs": run.repeats},
    }
    scores = []
    for name, ends in run.intervals.items():
        metrics = {"corpus": run.values[name], "low": ends.low, "high": ends.high}
        named = {each: {"name": each, "value": value} for each, value in metrics.items()}
        scores.append({"name": name, "scorer": name, "metrics": named})
    total = len(run.rows)
    results = {"total_samples": total, "completed_samples": total - run.folded.failed, "scores": scores}
    status = "success" if about.get("status") == "finished" else "cancelled"
    samples = [_sample(row, run) for row in run.answers]
    members: dict[str, Any] = {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in samples}
    members["summaries.json"] = [{name: each[name] for name in SUMMARY} for each in samples]
    members["header.json"] = {"version": 2, "status": status, "eval": head, "results": results}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, member in members.items():
            archive.writestr(place, jsonl.dumps(member))
    return content.getvalue()


def _sample(row: Mapping[str, Any], run: Run) -> dict[str, Any]:
    errors = "\n".join(str(error.get("message")) for error in row.get("errors", ()))
    evidence = {name: tally for name, tally in run.zero.from_state(row["tallies"]).items() if tally.weight > 0}
    message = {"role": "assistant", "content": jsonl.dumps(row.get("prediction"))}
    failure = {"error": {"message": row["error"], "traceback": "", "traceback_ansi": ""}} if row.get("error") else {}
    return {
        "id": row["id"],
        "epoch": row.get("repeat", 1),
        "input": jsonl.dumps(row.get("inputs")),
        "target": jsonl.dumps(row.get("gold")),
        "messages": [message],
        "output": {"choices": [{"message": message}], "completion": message["content"]},
        "scores": {
            name: {"value": tally.value, "answer": message["content"], "explanation": errors}
            for name, tally in evidence.items()
        },
        "metadata": {name: row[name] for name in ("document", "strata", "language") if name in row},
        **failure,
    }
