"""A run in the forms of other tools: csv, LaTeX, JUnit, Label Studio, Inspect, MLflow.

Label Studio tasks carry the program's predictions and the errors as pre-annotations; the format
`goldassay.gold.formats.label_studio` reads the corrected labels back.

`log` writes one MLflow run. A measure's value is a metric of its name (``@`` becomes ``_at_``), and the ends of its
interval are ``NAME.low`` and ``NAME.high``. Conventions are tags, settings are parameters. The rows are ``rows.json``
(``mlflow.load_table`` reads them), the report is ``report.html``, the head of the run is ``run.json``. A DSPy program
is logged as a model for ``mlflow.dspy.load_model``. MLflow's telemetry is off unless ``MLFLOW_DISABLE_TELEMETRY`` says
otherwise.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from goldassay import __version__, jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.formats import label_studio
from goldassay.reporting import summary
from goldassay.reporting.inspect_log import to_inspect
from goldassay.running.run import Run
from goldassay.text.latex import Cell, latex_table

if TYPE_CHECKING:
    import dspy

TAG_LENGTH = 5000  # MLflow's limit


def to_csv(run: Run) -> str:
    """The records of a run as csv. A cell that a spreadsheet would read as a formula starts with an apostrophe."""
    rows = run.records()
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _no_formula(value) for name, value in row.items()})
    return text.getvalue()


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
    """A run as JUnit XML: a test an example (a wrong one is a failure, a failed one an error), and one a target."""
    name = _xml(run.name)
    suite = ElementTree.Element("testsuite", name=name, time=f"{float(run.cost.get('seconds') or 0):.3f}")
    for value in summary.values(run):
        if value.target is None:
            continue
        case = ElementTree.SubElement(suite, "testcase", classname=f"{name}.targets", name=value.name)
        if not value.met:
            side = "above" if value.lower_is_better else "under"
            message = f"{value.value:.4f} is {side} the target of {value.target:g}"
            ElementTree.SubElement(case, "failure", message=message).text = value.convention
    for row in run.rows:
        seconds = f"{float(row.get('latency_s') or 0):.6f}"
        case = ElementTree.SubElement(suite, "testcase", classname=name, name=_xml(str(row["id"])), time=seconds)
        if row.get("error"):
            ElementTree.SubElement(case, "error", message=_xml(str(row["error"])))
        elif summary.is_wrong(row):
            failure = ElementTree.SubElement(case, "failure", message=f"score {row['score']:.4f}")
            failure.text = "\n".join(_xml(str(error.get("message", ""))) for error in row.get("errors", ()))
    for attribute, tag in (("tests", "testcase"), ("failures", "testcase/failure"), ("errors", "testcase/error")):
        suite.set(attribute, str(len(suite.findall(tag))))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)


def to_label_studio(run: Run) -> list[dict[str, Any]]:
    """Tasks for Label Studio: the text, the program's entities or label as predictions, the errors as a note.

    The corrected labels become gold with ``goldassay gold convert export.json gold.jsonl --format label-studio``.
    """
    tasks = []
    for row in run.rows:
        text = (row.get("inputs") or {}).get("text")
        if not isinstance(text, str):
            raise DataError("Label Studio tasks need a text; this run was stored without inputs", record=row["id"])
        prediction = row.get("prediction") or {}
        entities = [
            {**entity, "text": text[entity["start"] : entity["end"]]}
            for entity in prediction.get("entities") or ()
            if isinstance(entity, Mapping) and all(isinstance(entity.get(end), int) for end in ("start", "end"))
        ]
        result = label_studio.result({**prediction, "entities": entities})
        errors = "\n".join(str(error.get("message", "")) for error in row.get("errors", ()))
        data = {"id": str(row["id"]), "text": text, "errors": errors, "score": row["score"]}
        predictions = [{"model_version": run.name, "score": row["score"], "result": result}]
        tasks.append({"data": data, "predictions": predictions})
    return tasks


FORMS = ("csv", "latex", "junit", "label-studio", "inspect")


def write(run: Run, form: str, file: Path) -> None:
    """Writes a run in one of `FORMS`."""
    if form == "label-studio":
        text = json.dumps(to_label_studio(run), ensure_ascii=False, indent=1) + "\n"
    elif form == "latex":
        text = to_latex([run], [run.name])
    elif form != "inspect":
        text = {"csv": to_csv, "junit": to_junit}[form](run)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(to_inspect(run) if form == "inspect" else text.encode("utf-8", "replace"))


def log(
    run: Run,
    *,
    uri: str | None = None,
    experiment: str = "goldassay",
    program: dspy.Module | None = None,
    report: bool = True,
    tags: Mapping[str, str] | None = None,
) -> str:
    """Logs a run to MLflow and returns the id of MLflow's run.

    Args:
        run: The run.
        uri: Of the tracking store, such as ``sqlite:///mlflow.db`` or ``http://host:5000``; by default MLflow's own.
        experiment: Its name; it is created if it does not exist.
        program: The DSPy program that ran, to be logged as a model.
        report: Whether to log the HTML report too.
        tags: More tags.

    Raises:
        GoldassayError: The extra ``mlflow`` is missing, or the store cannot be reached.
    """
    mlflow = _mlflow()
    with _one_line_errors(mlflow):
        client = mlflow.MlflowClient(tracking_uri=uri)
        existing = client.get_experiment_by_name(experiment)
        place = existing.experiment_id if existing else client.create_experiment(experiment)
        start, end = (_milliseconds(run.about.get(name)) for name in ("started", "finished"))
        entry = client.create_run(place, start_time=start, run_name=run.name, tags=_tags(run) | dict(tags or {}))
        key = str(entry.info.run_id)
        for name, value in _params(run).items():
            client.log_param(key, name, value)
        for name, number in metrics(run).items():
            client.log_metric(key, name, number, timestamp=end)
        client.log_table(key, _columns(run), "rows.json")
        client.log_text(key, jsonl.dumps(run.summary()) + "\n", "run.json")
        if report and run.rows:
            from goldassay.reporting.pages.report import report as page

            client.log_text(key, page([run]), "report.html")
        if program is not None:
            _model(mlflow, program, key, uri)
        client.set_terminated(key, "FINISHED" if run.about.get("status") == "finished" else "KILLED", end)
    return key


def metrics(run: Run) -> dict[str, float]:
    """The numbers of a run under names that MLflow takes: values, the ends of intervals, counts and costs.

    >>> mlflow_name("hits@5"), mlflow_name("nDCG@10[gain=linear]")
    ('hits_at_5', 'nDCG_at_10_gain_linear_')
    """
    values = {value.name: (value.value, value.interval) for value in (summary.overall(run), *summary.values(run))}
    values |= {f"{name}.corrected": (c.corrected.value, c.corrected) for name, c in run.corrected.items()}
    numbers: dict[str, float] = {}
    for name, (value, interval) in values.items():
        name = mlflow_name(name)
        numbers[name] = value
        if interval:
            numbers |= {f"{name}.low": interval.low, f"{name}.high": interval.high}
    numbers |= {"examples": float(len(run.rows)), "units": float(run.unit.split()[0])}
    numbers["failed"] = float(sum(bool(row.get("error")) for row in run.rows))
    costs = {f"cost.{mlflow_name(str(name))}": value for name, value in run.cost.items()}
    return numbers | {name: float(value) for name, value in costs.items() if isinstance(value, (int, float))}


def mlflow_name(text: str) -> str:
    """A name in the letters that MLflow allows."""
    return re.sub(r"[^\w./ :-]", "_", text.replace("@", "_at_"))


def _params(run: Run) -> dict[str, Any]:
    params = {"name": run.name, **{name: run.about.get(name) for name in ("lm", "adapter", "seed")}}
    params |= {f"setting.{mlflow_name(str(k))}": value for k, value in (run.about.get("settings") or {}).items()}
    params["gold.sha256"] = (run.about.get("gold") or {}).get("sha256")
    return {name: summary.model_name(value)[:TAG_LENGTH] for name, value in params.items() if value is not None}


def _tags(run: Run) -> dict[str, str]:
    """The convention of each value, the versions, the folder."""
    tags = {f"convention.{mlflow_name(value.name)}": value.convention for value in summary.values(run)}
    tags |= {f"version.{name}": str(value) for name, value in (run.about.get("versions") or {}).items()}
    tags["goldassay.folder"] = str(run.folder or "")
    return {name: value[:TAG_LENGTH] for name, value in tags.items() if value}


def _columns(run: Run) -> dict[str, list[Any]]:
    """The rows column by column; None where a row lacks the column."""
    rows = run.records()
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}


def _model(mlflow: Any, program: dspy.Module, key: str, uri: str | None) -> None:
    """Logs the program as a model, with the source of the workspace file in it."""
    import cloudpickle
    import dspy

    if not isinstance(program, dspy.Module):
        raise GoldassayError(f"MLflow takes a dspy.Module, not {type(program).__name__}")
    module = sys.modules.get(type(program).__module__)
    own = module is not None and module.__name__.startswith("_goldassay_workspace")  # nobody else can import it
    before = mlflow.get_tracking_uri()
    if own:
        cloudpickle.register_pickle_by_value(module)
    try:
        if uri:
            mlflow.set_tracking_uri(uri)
        with mlflow.start_run(run_id=key):
            needs = [f"dspy=={version('dspy')}", f"goldassay=={__version__}"]
            import_module("mlflow.dspy").log_model(program, name="program", pip_requirements=needs)
    finally:
        if own:
            cloudpickle.unregister_pickle_by_value(module)
        if uri:
            mlflow.set_tracking_uri(before)


def _mlflow() -> Any:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    try:
        return import_module("mlflow")
    except ModuleNotFoundError:
        raise GoldassayError("MLflow is not installed: pip install 'goldassay[mlflow]'") from None


@contextmanager
def _one_line_errors(mlflow: Any) -> Iterator[None]:
    """Turns MLflow's errors into one line, and silences the warnings of its own libraries."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except mlflow.exceptions.MlflowException as error:
        raise GoldassayError(f"MLflow: {' '.join(str(error).split())[:300]}") from None


def _milliseconds(text: Any) -> int | None:
    """A time in ISO form as milliseconds since 1970."""
    return int(datetime.fromisoformat(text).timestamp() * 1000) if isinstance(text, str) else None
