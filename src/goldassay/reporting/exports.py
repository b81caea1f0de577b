"""A run in the forms that other tools take: a data frame, csv, LaTeX, JUnit, Label Studio, MLflow.

Label Studio's tasks carry the program's predictions and what was wrong as pre-annotations; what people make of them is
read by the format `goldassay.gold.formats.label_studio`.

``log`` writes one MLflow run. A measure's value is a metric of its name (``@`` is written ``_at_``, as MLflow's names
need), the ends of its interval are ``NAME.low`` and ``NAME.high``; conventions are tags, settings are parameters. The
rows are ``rows.json`` (``mlflow.load_table`` reads them), the report is ``report.html``, the head of the run is
``run.json``. A DSPy program is logged as a model that ``mlflow.dspy.load_model`` gives back, its own file in it. MLflow
reports its use over the network unless ``MLFLOW_DISABLE_TELEMETRY`` is set; here it is set where nobody said otherwise.
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
from typing import TYPE_CHECKING, Any, TypedDict
from xml.etree import ElementTree

from goldassay import __version__, jsonl
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.formats import label_studio
from goldassay.reporting import facts
from goldassay.running.run import Run

if TYPE_CHECKING:
    import dspy


def to_csv(run: Run) -> str:
    """The records of a run as csv. A cell that a spreadsheet would take for a formula starts with an apostrophe."""
    rows = run.records()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _tame(value) for name, value in row.items()})
    return out.getvalue()


def _tame(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def to_latex(runs: Sequence[Run], names: Sequence[str]) -> str:
    r"""Values with intervals as a table of the package booktabs: a row a measure, a column a run.

    >>> print(escaped("50 % of strict_f1"))
    50 \% of strict\_f1
    """
    told = [{one.name: one for one in (facts.overall(run), *facts.values(run))} for run in runs]
    measures = list(dict.fromkeys(name for one in told for name in one))
    lines = [rf"\begin{{tabular}}{{l{'r' * len(runs)}}}", r"\toprule"]
    lines += [" & ".join(["", *map(escaped, names)]) + r" \\", r"\midrule"]
    for measure in measures:
        cells = [_latex(one.get(measure)) for one in told]
        lines.append(" & ".join([escaped(measure), *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _latex(one: facts.ReportedValue | None) -> str:
    if one is None:
        return "--"
    ends = rf" {{\small [{one.interval.low:.3f}, {one.interval.high:.3f}]}}" if one.interval else ""
    return f"{one.value:.3f}{ends}"


def escaped(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    special = {**{sign: f"\\{sign}" for sign in "&%$#_{}"}, "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join({**special, "\\": r"\textbackslash{}"}.get(sign, sign) for sign in text)


def to_junit(run: Run) -> str:
    """A run as JUnit XML, for CI: a test an example (a wrong one is a failure, a failed one an error), one a target."""
    targets = [one for one in facts.values(run) if one.target is not None]
    wrong = [row for row in run.rows if facts.wrong(row) and not row.get("error")]
    failed = [row for row in run.rows if row.get("error")]
    missed = [one for one in targets if not one.met]
    suite = ElementTree.Element(
        "testsuite",
        name=_clean(run.name),
        tests=str(len(run.rows) + len(targets)),
        failures=str(len(wrong) + len(missed)),
        errors=str(len(failed)),
        time=f"{float(run.cost.get('seconds') or 0):.3f}",
    )
    for one in targets:
        case = ElementTree.SubElement(suite, "testcase", classname=f"{_clean(run.name)}.targets", name=one.name)
        if not one.met:
            said = f"{one.value:.4f} is under the target of {one.target:g}"
            ElementTree.SubElement(case, "failure", message=said).text = one.convention
    for row in run.rows:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=_clean(run.name),
            name=_clean(str(row["id"])),
            time=f"{float(row.get('latency_s') or 0):.6f}",
        )
        if row.get("error"):
            ElementTree.SubElement(case, "error", message=_clean(str(row["error"])))
        elif facts.wrong(row):
            messages = [_clean(str(error.get("message", ""))) for error in row.get("errors", ())]
            failure = ElementTree.SubElement(case, "failure", message=f"score {row['score']:.4f}")
            failure.text = "\n".join(messages)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _clean(text: str) -> str:
    """Text without the characters that XML has no way to hold."""
    return "".join(c if c in "\t\n\r" or (ord(c) >= 32 and not 0xD800 <= ord(c) <= 0xDFFF) else "\ufffd" for c in text)


class LabelStudioTask(TypedDict):
    """What Label Studio imports: fields of the task, and what was predicted."""

    data: dict[str, object]
    predictions: list[dict[str, object]]


def to_label_studio(run: Run) -> list[LabelStudioTask]:
    """Tasks for Label Studio: the text, the program's entities or label as predictions, what was wrong as a note.

    What people make of them is read as gold: ``goldassay gold convert export.json gold.jsonl --format label-studio``.
    """
    tasks: list[LabelStudioTask] = []
    for row in run.rows:
        text = (row.get("inputs") or {}).get("text")
        if not isinstance(text, str):
            raise DataError(
                "Label Studio's tasks need a text; the run has none in inputs (made with --no-trace?)", record=row["id"]
            )
        said = row.get("prediction") or {}
        placed = [
            {**one, "text": text[one["start"] : one["end"]]} for one in said.get("entities") or () if _placed(one)
        ]
        result = label_studio.result({**said, "entities": placed})
        notes = [str(error.get("message", "")) for error in row.get("errors", ())]
        tasks.append(
            {
                "data": {"id": str(row["id"]), "text": text, "errors": "\n".join(notes), "score": row["score"]},
                "predictions": [{"model_version": run.name, "score": row["score"], "result": result}],
            }
        )
    return tasks


def _placed(one: Any) -> bool:
    return isinstance(one, Mapping) and isinstance(one.get("start"), int) and isinstance(one.get("end"), int)


FORMS = ("csv", "latex", "junit", "label-studio")


def write(run: Run, form: str, file: Path) -> None:
    """Write a run in one of `FORMS`."""
    if form == "label-studio":
        text = json.dumps(to_label_studio(run), ensure_ascii=False, indent=1) + "\n"
    else:
        made = {"csv": to_csv, "latex": lambda one: to_latex([one], [one.name]), "junit": to_junit}
        text = made[form](run)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", errors="replace", newline="")


LONGEST = 5000  # characters of a tag: MLflow's own limit


def log(
    run: Run,
    *,
    uri: str | None = None,
    experiment: str = "goldassay",
    program: dspy.Module | None = None,
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
    return {name: facts.shown_model(value)[:LONGEST] for name, value in found.items() if value is not None}


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


def _model(mlflow: Any, program: dspy.Module, key: str, uri: str | None) -> None:
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
