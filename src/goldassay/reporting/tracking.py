"""A run in MLflow: its values with their intervals, its rows as a table, its report, its program.

``log`` writes one MLflow run. A measure's value is a metric of its name (``@`` is written ``_at_``, as MLflow's names
need), the ends of its interval are ``NAME.low`` and ``NAME.high``; conventions are tags, settings are parameters. The
rows are ``rows.json`` (``mlflow.load_table`` reads them), the report is ``report.html``, the head of the run is
``run.json``. A DSPy program is logged as a model that ``mlflow.dspy.load_model`` gives back, its own file in it.

MLflow reports its use over the network unless ``MLFLOW_DISABLE_TELEMETRY`` is set; here it is set where nobody said
otherwise.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from importlib import import_module
from importlib.metadata import version
from typing import Any

from goldassay import __version__, jsonl
from goldassay.exceptions import GoldassayError
from goldassay.reporting import facts
from goldassay.running.run import Run

LONGEST = 5000  # characters of a tag: MLflow's own limit


def log(
    run: Run,
    *,
    uri: str | None = None,
    experiment: str = "goldassay",
    program: object = None,
    report: bool = True,
    tags: Mapping[str, str] | None = None,
) -> str:
    """Log a run and return the id of MLflow's.

    Args:
        run: the run.
        uri: of the tracking store, such as ``sqlite:///mlflow.db`` or ``http://host:5000``; MLflow's own without.
        experiment: its name; made where it is not there.
        program: the DSPy program that ran, to be logged as a model.
        report: whether the page to look at is logged too.
        tags: more tags.

    Raises an error of one line without the extra ``mlflow``, and where the store cannot be reached.
    """
    mlflow = _mlflow()
    with _plainly(mlflow):
        client = mlflow.MlflowClient(tracking_uri=uri)
        found = client.get_experiment_by_name(experiment)
        place = found.experiment_id if found else client.create_experiment(experiment)
        began, ended = (_moment(run.about.get(name)) for name in ("started", "finished"))
        made = client.create_run(place, start_time=began, run_name=run.name, tags=_tags(run) | dict(tags or {}))
        key = str(made.info.run_id)
        for name, value in _params(run).items():
            client.log_param(key, name, value)
        for name, number in metrics(run).items():
            client.log_metric(key, name, number, timestamp=ended)
        client.log_table(key, _columns(run), "rows.json")
        client.log_text(key, jsonl.dumps(run.summary()) + "\n", "run.json")
        if report and run.rows:
            from goldassay.reporting.pages.report import report as page

            client.log_text(key, page([run]), "report.html")
        if program is not None:
            _model(mlflow, program, key, uri)
        client.set_terminated(key, "FINISHED" if run.about.get("status") == "finished" else "KILLED", ended)
    return key


def metrics(run: Run) -> dict[str, float]:
    """The numbers of a run under names that MLflow takes: values, the ends of intervals, counts and costs.

    >>> named("hits@5"), named("nDCG@10[gain=linear]")
    ('hits_at_5', 'nDCG_at_10_gain_linear_')
    """
    out: dict[str, float] = {}
    for one in (facts.overall(run), *facts.values(run)):
        name = named(one.name)
        out[name] = one.value
        if one.interval:
            out |= {f"{name}.low": one.interval.low, f"{name}.high": one.interval.high}
    for name, corrected in run.corrected.items():
        ends = corrected.corrected
        key = f"{named(name)}.corrected"
        out |= {key: ends.value, f"{key}.low": ends.low, f"{key}.high": ends.high}
    out["examples"] = float(len(run.rows))
    out["failed"] = float(sum(1 for row in run.rows if row.get("error")))
    costs = {f"cost.{named(str(name))}": value for name, value in run.cost.items()}
    return out | {name: float(value) for name, value in costs.items() if isinstance(value, (int, float))}


def named(text: str) -> str:
    """A name of the letters that MLflow allows."""
    return re.sub(r"[^\w./ :-]", "_", text.replace("@", "_at_"))


def _params(run: Run) -> dict[str, Any]:
    about = run.about
    found = {"name": run.name, "lm": about.get("lm"), "adapter": about.get("adapter"), "seed": about.get("seed")}
    found |= {f"setting.{named(str(name))}": value for name, value in (about.get("settings") or {}).items()}
    found["gold.sha256"] = (about.get("gold") or {}).get("sha256")
    return {name: str(value)[:LONGEST] for name, value in found.items() if value is not None}


def _tags(run: Run) -> dict[str, str]:
    """The conventions of each value, the versions, where the run lies."""
    found = {f"convention.{named(one.name)}": one.convention for one in facts.values(run)}
    found |= {f"version.{name}": str(value) for name, value in (run.about.get("versions") or {}).items()}
    found["goldassay.folder"] = str(run.folder or "")
    return {name: value[:LONGEST] for name, value in found.items() if value}


def _columns(run: Run) -> dict[str, list[Any]]:
    """The rows column by column; what a row lacks is None."""
    rows = run.records()
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _model(mlflow: Any, program: Any, key: str, uri: str | None) -> None:
    """The program as a model of MLflow, with the source of the workspace's file in it."""
    import cloudpickle
    import dspy

    if not isinstance(program, dspy.Module):
        raise GoldassayError(f"{type(program).__name__} is no dspy.Module, and MLflow takes no other program")
    flavour = import_module("mlflow.dspy")
    home = sys.modules.get(type(program).__module__)
    own = home is not None and home.__name__.startswith("_goldassay_workspace")  # nobody else can import it
    before = mlflow.get_tracking_uri()
    if own:
        cloudpickle.register_pickle_by_value(home)
    try:
        if uri:
            mlflow.set_tracking_uri(uri)
        with mlflow.start_run(run_id=key):
            needs = [f"dspy=={version('dspy')}", f"goldassay=={__version__}"]
            flavour.log_model(program, name="program", pip_requirements=needs)
    finally:
        if own:
            cloudpickle.unregister_pickle_by_value(home)
        if uri:
            mlflow.set_tracking_uri(before)


def _mlflow() -> Any:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    try:
        return import_module("mlflow")
    except ModuleNotFoundError:
        raise GoldassayError("MLflow is not installed: pip install 'goldassay[mlflow]'") from None


@contextmanager
def _plainly(mlflow: Any) -> Iterator[None]:
    """MLflow's faults in one line, and without what its own libraries warn it of."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except mlflow.exceptions.MlflowException as error:
        raise GoldassayError(f"MLflow: {' '.join(str(error).split())[:300]}") from None


def _moment(text: Any) -> int | None:
    """Milliseconds since 1970, as MLflow counts."""
    return int(datetime.fromisoformat(text).timestamp() * 1000) if isinstance(text, str) else None
