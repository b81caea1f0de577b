"""A result in the forms of other tools: csv, LaTeX, JUnit, Inspect, MLflow; and a ranking of results as files.

`log` writes one MLflow run. A measure's value is a metric of its name (``@`` becomes ``_at_``), and the ends of its
interval are ``NAME.low`` and ``NAME.high``. Conventions are tags, settings are parameters. The rows are ``rows.json``
(``mlflow.load_table`` reads them), the report is ``report.html``, the head of the run is ``run.json``. MLflow's
telemetry is off unless ``MLFLOW_DISABLE_TELEMETRY`` says otherwise.

In a log of Inspect (``inspect view`` opens it, ``read_eval_log`` reads it) each measure is a scorer: a sample's score
is the value of that example, and the metrics ``corpus``, ``low``, ``high`` are the run's value and its interval.
"""

from __future__ import annotations

import io
import os
import re
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

from goldassay._support import files, jsonl
from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import Fields, JsonObject
from goldassay.reporting import ranking
from goldassay.reporting.summary import is_wrong
from goldassay.results.result import Cell, latex_table
from goldassay.running import summary
from goldassay.running.run import Run

TAG_LENGTH = 5000  # MLflow's limit


def to_latex(runs: Sequence[Run], names: Sequence[str]) -> str:
    """Values with intervals as a booktabs table: a row a measure, a column a run."""
    columns: dict[str, dict[str, Cell]] = {}
    for name, run in zip(names, runs, strict=True):
        values = [] if run.why_no_estimate else [summary.overall(run), *summary.values(run)]
        columns[name] = {value.label: (value.value, value.ends and value.ends[1:]) for value in values}
    return latex_table(columns)


def to_junit(run: Run) -> str:
    """A run as JUnit XML: a test an example and a target; a wrong example is a failure, a failed one an error."""

    def printable(text: str) -> str:
        """Text without the characters that XML cannot hold."""
        return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)

    suite = ElementTree.Element("testsuite", name=printable(run.name))
    for value in summary.values(run):
        if value.target is not None:
            case = ElementTree.SubElement(suite, "testcase", classname="targets", name=value.name)
            if not value.met:
                ElementTree.SubElement(case, "failure", message=f"{value.value:.4f}, target {value.target:g}")
    for row in run.rows:
        case = ElementTree.SubElement(suite, "testcase", classname="examples", name=printable(str(row.id)))
        messages = [row.error] if row.error else [error.message for error in row.errors]
        if is_wrong(row):
            failure = ElementTree.SubElement(case, "error" if row.error else "failure")
            failure.set("message", f"score {row.score:.4f}")
            failure.text = printable("\n".join(messages))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def to_inspect(run: Run) -> bytes:
    """A run as an ``.eval`` file of Inspect: a zip of a header, summaries and samples as JSON.

    >>> import dspy
    >>> from goldassay.running.evaluate import evaluate
    >>> gold = [dspy.Example(text=word, label="A").with_inputs("text") for word in ("a", "b")]
    >>> run = evaluate(lambda text: {"label": text.upper()}, gold, lambda gold, pred: gold.label == pred.label)
    >>> zipfile.ZipFile(io.BytesIO(to_inspect(run))).namelist()
    ['samples/0_epoch_1.json', 'samples/1_epoch_1.json', 'summaries.json', 'header.json']
    """
    head = run.head
    total = len(run.rows)
    evaluation = {
        "created": head.started or "1970-01-01T00:00:00+00:00",
        "task": run.name,
        "task_id": str(head.gold.sha256),
        "model": head.lm or "none/none",
        "dataset": {"samples": total, "sample_ids": [row.id for row in run.rows]},
        "config": {"epochs": run.repeats},
    }
    scores = []
    for name, ends in run.intervals.items():
        metrics = {"corpus": run.values[name], "low": ends.low, "high": ends.high}
        named = {item: {"name": item, "value": value} for item, value in metrics.items()}
        scores.append({"name": name, "scorer": name, "metrics": named})
    results = {"total_samples": total, "completed_samples": total - run.failed, "scores": scores}
    status = "success" if head.status == "finished" else "cancelled"
    members: JsonObject = {}
    summaries: list[JsonObject] = []
    for row in run.answers:
        answer = jsonl.dumps(row.prediction)
        message = {"role": "assistant", "content": answer}
        common = {"answer": answer, "explanation": "\n".join(error.message for error in row.errors)}
        evidence = run.zero.from_state(row.tallies).items()
        listed: JsonObject = {
            "id": row.id,
            "epoch": row.repeat or 1,
            "input": jsonl.dumps(row.inputs),
            "target": jsonl.dumps(row.gold),
            "scores": {name: {"value": tally.value, **common} for name, tally in evidence if tally.weight > 0},
            "metadata": {name: value for name in ("document", "strata", "language") if (value := getattr(row, name))},
        }
        summaries.append(listed)
        output = {"choices": [{"message": message}], "completion": answer}
        failure = {"error": {"message": row.error, "traceback": "", "traceback_ansi": ""}} if row.error else {}
        sample = {**listed, "messages": [message], "output": output, **failure}
        members[f"samples/{_member(row.id)}_epoch_{row.repeat or 1}.json"] = sample
    members["summaries.json"] = summaries
    members["header.json"] = {"version": 2, "status": status, "eval": evaluation, "results": results}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, member in members.items():
            archive.writestr(place, jsonl.dumps(member))
    return content.getvalue()


def _member(name: object) -> str:
    """An id as a part of a name in an archive, which leads out of no folder.

    >>> _member("../../x")
    '..%2F..%2Fx'
    """
    return re.sub(r"[%/\\\x00-\x1f]", lambda match: f"%{ord(match[0]):02X}", str(name))


FORMS: dict[str, Callable[[Run], str | bytes]] = {
    "csv": lambda run: files.csv_of_records(run.records()),
    "latex": lambda run: to_latex([run], [run.name]),
    "junit": to_junit,
    "inspect": to_inspect,
}
"""The formats of a file that a run can be written to."""


def write(run: Run, form: str, file: Path) -> None:
    """Writes a run in one of `FORMS`.

    Raises:
        KeyError: The form is none of them.
    """
    files.save_all({file: FORMS[form](run)})


def log(run: Run, *, uri: str | None = None, experiment: str = "goldassay") -> str:
    """Logs a run to MLflow and returns the id of MLflow's run.

    Args:
        run: The run.
        uri: Of the tracking store, such as ``sqlite:///mlflow.db`` or ``http://host:5000``; by default MLflow's own.
        experiment: Its name; it is created if it does not exist.

    Raises:
        GoldassayError: The extra ``mlflow`` is missing, or the store cannot be reached or written.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    try:
        mlflow = import_module("mlflow")
    except ModuleNotFoundError:
        raise GoldassayError("MLflow is not installed: pip install 'goldassay[mlflow]'") from None
    from goldassay.reporting.pages import report  # loads DSPy

    page = report([run])
    head = run.head
    records = run.records()
    params = {name: getattr(head, name) for name in ("name", "lm", "adapter", "seed")}
    params |= {f"setting.{mlflow_name(name)}": value for name, value in head.settings.items()}
    params["gold.sha256"] = head.gold.sha256
    numbers: Fields = {"examples": len(run.rows), "units": run.unit.split()[0], "failed": run.failed}
    numbers |= {f"cost.{name}": value for name, value in run.cost.items() if isinstance(value, (int, float))}
    reported = [] if run.why_no_estimate else [summary.overall(run), *summary.values(run)]
    named = {item.name: (item.value, item.interval) for item in reported}
    named |= {f"{name}.corrected": (item.corrected.value, item.corrected) for name, item in run.corrected.items()}
    for name, (value, interval) in named.items():
        numbers[name] = value
        if interval:
            numbers |= {f"{name}.low": interval.low, f"{name}.high": interval.high}
    columns = dict.fromkeys(name for row in records for name in row)
    end = _milliseconds(head.finished)
    tags = {f"convention.{mlflow_name(value.name)}": value.convention for value in summary.values(run)}
    tags |= {f"version.{name}": str(value) for name, value in head.versions.items()}
    tags["goldassay.folder"] = str(run.folder or "")
    key = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of its own libraries
            client = mlflow.MlflowClient(tracking_uri=uri)
            stored = client.get_experiment_by_name(experiment)
            entry = client.create_run(
                stored.experiment_id if stored else client.create_experiment(experiment),
                start_time=_milliseconds(head.started),
                run_name=run.name,
                tags={name: value[:TAG_LENGTH] for name, value in tags.items() if value},
            )
            key = str(entry.info.run_id)
            for name, value in params.items():
                if value is not None:
                    client.log_param(key, name, summary.model_name(value)[:TAG_LENGTH])
            for name, value in numbers.items():
                client.log_metric(key, mlflow_name(name), float(value), timestamp=end)
            client.log_table(key, {name: [row.get(name) for row in records] for name in columns}, "rows.json")
            client.log_text(key, jsonl.dumps(run.summary()) + "\n", "run.json")
            client.log_text(key, page, "report.html")
            client.set_terminated(key, "FINISHED" if head.status == "finished" else "KILLED", end)
            return key
    except Exception as error:  # noqa: BLE001 - its stores raise what their libraries raise
        if key:
            with suppress(Exception):  # the first error is the one to report
                client.delete_run(key)
        raise GoldassayError(f"MLflow: {' '.join(str(error).split())[:300]}") from None


def _milliseconds(moment: str | None) -> int | None:
    return int(datetime.fromisoformat(moment).timestamp() * 1000) if moment else None


def mlflow_name(text: str) -> str:
    """A name in the letters that MLflow allows.

    >>> mlflow_name("hits@5"), mlflow_name("nDCG@10[gain=linear]")
    ('hits_at_5', 'nDCG_at_10_gain_linear_')
    """
    return re.sub(r"[^\w./ :-]", "_", text.replace("@", "_at_"))


def save_ranking(
    runs: Sequence[Run], folder: Path, weights: Mapping[str, float] | None = None, *, seed: int = 0
) -> tuple[ranking.Ranking, list[Path]]:
    """Rank runs and write tables, LaTeX and a report into a folder; of one run the report alone.

    Args:
        runs: The runs, on the same gold.
        folder: Where the files go.
        weights: Of the measures by name; by default those of the runs' metric.
        seed: Of the resampling.

    Returns:
        The ranking, and the files.

    Raises:
        GoldassayError: The runs' values cannot be estimated from the gold.
    """
    from goldassay.reporting.pages import report  # loads DSPy

    if len(runs) == 1:
        return ranking.Ranking(), files.save_all({folder / "report.html": report(runs)})
    if runs[0].why_no_estimate:
        raise GoldassayError(f"a ranking needs values: {runs[0].why_no_estimate}")
    if not any(runs[0].zero.weights.values()):  # files, which have no metric: all values weigh the same
        weights = weights or dict.fromkeys(runs[0].values, 1.0)
    ranked = ranking.rank(runs, weights, seed=seed)
    notes = ranking.unranked(runs)
    ordered = [*(item.run for item in ranked), *(run for run in runs if not run.available)]
    texts = ranking.texts(ranked, notes) | {
        "systems.tex": to_latex(runs, [run.name for run in runs]),
        "report.html": report(ordered, ranked=ranked, title="Ranking"),
    }
    return ranked, files.save_all({folder / name: text for name, text in texts.items()})
