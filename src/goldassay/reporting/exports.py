"""A run in the forms of other tools: csv, LaTeX, JUnit, Inspect, MLflow.

`log` writes one MLflow run. A measure's value is a metric of its name (``@`` becomes ``_at_``), and the ends of its
interval are ``NAME.low`` and ``NAME.high``. Conventions are tags, settings are parameters. The rows are ``rows.json``
(``mlflow.load_table`` reads them), the report is ``report.html``, the head of the run is ``run.json``. MLflow's
telemetry is off unless ``MLFLOW_DISABLE_TELEMETRY`` says otherwise.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from goldassay import jsonl
from goldassay.exceptions import GoldassayError
from goldassay.reporting import summary
from goldassay.reporting.inspect_log import to_inspect
from goldassay.reporting.ranking import to_csv as csv_of
from goldassay.running.run import Run
from goldassay.scorecard import Cell, latex_table

TAG_LENGTH = 5000  # MLflow's limit


def to_csv(run: Run) -> str:
    """The records of a run as csv. A cell that a spreadsheet would read as a formula starts with an apostrophe."""
    return csv_of([{name: _no_formula(value) for name, value in row.items()} for row in run.records()])


def _no_formula(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def to_latex(runs: Sequence[Run], names: Sequence[str]) -> str:
    """Values with intervals as a booktabs table: a row a measure, a column a run."""
    columns: dict[str, dict[str, Cell]] = {}
    for name, run in zip(names, runs, strict=True):
        values = (summary.overall(run), *summary.values(run))
        columns[name] = {v.label: (v.value, (v.interval.low, v.interval.high) if v.interval else None) for v in values}
    return latex_table(columns)


def to_junit(run: Run) -> str:
    """A run as JUnit XML: a test an example and a target; what is wrong is a failure, a failed example an error."""
    suite = ElementTree.Element("testsuite", name=printable(run.name))
    for value in summary.values(run):
        if value.target is not None:
            case = ElementTree.SubElement(suite, "testcase", classname="targets", name=value.name)
            if not value.met:
                ElementTree.SubElement(case, "failure", message=f"{value.value:.4f}, target {value.target:g}")
    for row in run.rows:
        case = ElementTree.SubElement(suite, "testcase", classname="examples", name=printable(str(row["id"])))
        messages = [str(row["error"])] if row.get("error") else [str(e.get("message")) for e in row.get("errors", ())]
        if summary.is_wrong(row):
            kind = "error" if row.get("error") else "failure"
            ElementTree.SubElement(case, kind, message=f"score {row['score']:.4f}").text = printable(
                "\n".join(messages)
            )
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def printable(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


FORMS: dict[str, Callable[[Run], str | bytes]] = {
    "csv": to_csv,
    "latex": lambda run: to_latex([run], [run.name]),
    "junit": to_junit,
    "inspect": to_inspect,
}
"""What a run can be written as, into a file."""


def write(run: Run, form: str, file: Path) -> None:
    """Writes a run in one of `FORMS`."""
    content = FORMS[form](run)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "replace"))


def log(run: Run, *, uri: str | None = None, experiment: str = "goldassay") -> str:
    """Logs a run to MLflow and returns the id of MLflow's run.

    Args:
        run: The run.
        uri: Of the tracking store, such as ``sqlite:///mlflow.db`` or ``http://host:5000``; by default MLflow's own.
        experiment: Its name; it is created if it does not exist.

    Raises:
        GoldassayError: The extra ``mlflow`` is missing, or the store cannot be reached.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    try:
        mlflow = import_module("mlflow")
    except ModuleNotFoundError:
        raise GoldassayError("MLflow is not installed: pip install 'goldassay[mlflow]'") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of its own libraries
            return _logged(run, mlflow.MlflowClient(tracking_uri=uri), experiment)
    except mlflow.exceptions.MlflowException as error:
        raise GoldassayError(f"MLflow: {' '.join(str(error).split())[:300]}") from None


def _logged(run: Run, client: Any, experiment: str) -> str:
    from goldassay.reporting.pages.report import report

    about, rows = run.about, run.records()
    params = {name: about.get(name) for name in ("name", "lm", "adapter", "seed")}
    params |= {f"setting.{mlflow_name(str(k))}": value for k, value in (about.get("settings") or {}).items()}
    params["gold.sha256"] = (about.get("gold") or {}).get("sha256")
    tags = {f"convention.{mlflow_name(value.name)}": value.convention for value in summary.values(run)}
    tags |= {f"version.{name}": str(value) for name, value in (about.get("versions") or {}).items()}
    tags["goldassay.folder"] = str(run.folder or "")
    start, end = (
        int(datetime.fromisoformat(text).timestamp() * 1000) if isinstance(text := about.get(name), str) else None
        for name in ("started", "finished")
    )
    place = client.get_experiment_by_name(experiment)
    entry = client.create_run(
        place.experiment_id if place else client.create_experiment(experiment),
        start_time=start,
        run_name=run.name,
        tags={name: value[:TAG_LENGTH] for name, value in tags.items() if value},
    )
    key = str(entry.info.run_id)
    for name, value in params.items():
        if value is not None:
            client.log_param(key, name, summary.model_name(value)[:TAG_LENGTH])
    for name, number in metrics(run).items():
        client.log_metric(key, name, number, timestamp=end)
    columns = dict.fromkeys(name for row in rows for name in row)
    client.log_table(key, {name: [row.get(name) for row in rows] for name in columns}, "rows.json")
    client.log_text(key, jsonl.dumps(run.summary()) + "\n", "run.json")
    client.log_text(key, report([run]), "report.html")
    client.set_terminated(key, "FINISHED" if about.get("status") == "finished" else "KILLED", end)
    return key


def metrics(run: Run) -> dict[str, float]:
    """The numbers of a run under names that MLflow takes: values, the ends of intervals, counts and costs.

    >>> mlflow_name("hits@5"), mlflow_name("nDCG@10[gain=linear]")
    ('hits_at_5', 'nDCG_at_10_gain_linear_')
    """
    values = {value.name: (value.value, value.interval) for value in (summary.overall(run), *summary.values(run))}
    values |= {f"{name}.corrected": (c.corrected.value, c.corrected) for name, c in run.corrected.items()}
    numbers: dict[str, Any] = {"examples": len(run.rows), "units": run.unit.split()[0], "failed": run.folded.failed}
    numbers |= {f"cost.{name}": value for name, value in run.cost.items() if isinstance(value, (int, float))}
    for name, (value, interval) in values.items():
        numbers |= {name: value} | ({f"{name}.low": interval.low, f"{name}.high": interval.high} if interval else {})
    return {mlflow_name(name): float(value) for name, value in numbers.items()}


def mlflow_name(text: str) -> str:
    """A name in the letters that MLflow allows."""
    return re.sub(r"[^\w./ :-]", "_", text.replace("@", "_at_"))
