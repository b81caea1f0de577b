"""A run in the forms that other tools take: a data frame, csv, LaTeX, JUnit, Label Studio.

Label Studio's tasks carry the program's predictions and what was wrong as pre-annotations; what people make of them is
read by the format `goldassay.gold.formats.label_studio`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from goldassay.exceptions import DataError
from goldassay.gold.formats import label_studio
from goldassay.reporting import facts
from goldassay.running.run import Run


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


def _latex(one: facts.Value | None) -> str:
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


def to_label_studio(run: Run) -> list[dict[str, Any]]:
    """Tasks for Label Studio: the text, the program's entities or label as predictions, what was wrong as a note.

    What people make of them is read as gold: ``goldassay gold convert export.json gold.jsonl --format label-studio``.
    """
    tasks = []
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
