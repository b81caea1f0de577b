"""A program that tests hold to floors: run once, its values against them (`goldassay.testing`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from goldassay import workspace
from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import target_met
from goldassay.core.metric import AnyMetric, Metric
from goldassay.core.shape import shape_of
from goldassay.models.lm import for_program
from goldassay.running import Run, new_folder, summary
from goldassay.running.evaluate import evaluate
from goldassay.running.guard import Program
from goldassay.running.options import RunOptions
from goldassay.tuning.patterns import find
from goldassay.tuning.saved import load_state, state_names
from goldassay.tuning.systems import SplitExamples, examples, examples_for, prepared


class MarkedTest:
    """A marked test function, with the arguments of `goldassay.case`; the program runs once, when a test needs it."""

    def __init__(
        self,
        program: Program | str,
        *,
        task: str | None = None,
        metric: AnyMetric | str | None = None,
        floors: Mapping[str, float] | None = None,
        **others: Any,
    ) -> None:

        self.program = program
        self.by_name = isinstance(program, str)
        self.gold = others.pop("gold", None)
        self.split = others.pop("split", "dev")
        state = others.pop("state", None)
        self.state = None if state is None else Path(state)
        self.options = RunOptions(**{"progress": False, **others})
        if isinstance(program, str):
            self.target = workspace.target(program, task)
        elif metric is None and task is None:
            raise GoldassayError("a program that is given as an object needs metric=… or task=…")
        else:
            self.target = workspace.Target(task or "own", Path(), type(program).__name__)
        if metric is None or isinstance(metric, str):
            metric = workspace.metric(self.target, metric)
        self.metric: Metric = metric if isinstance(metric, Metric) else Metric.of(metric)
        self.floors: Mapping[str, float] = self.metric.targets if floors is None else floors
        if not self.floors:
            raise GoldassayError("a case needs floors={'strict_f1': 0.5}, or a metric with targets")
        self._run: Run | None = None

    def checks(self) -> dict[str, tuple[str, float]]:
        """The name of each value and its floor, by the id of the test."""
        lower = self.metric.zero.worst
        return {
            f"{name}{'<=' if name in lower else '>='}{floor:g}": (name, floor) for name, floor in self.floors.items()
        }

    def run(self, folder: Path | None) -> Run:
        """The run of the program; in a new folder of this one, if any."""
        if self._run is not None:
            return self._run
        gold = self.gold
        options = self.options
        if gold is None or isinstance(gold, (str, Path)):
            data = examples(None if gold is None else str(gold), self.target, self.split)
            if not self.by_name:
                chosen = examples_for(shape_of(self.program), data.examples, self.target.name)
                data = data._replace(examples=chosen)
        else:
            data = SplitExamples("given", list(gold), [], [])
        program: Any = self.program
        if self.by_name:
            program = prepared(self.target, data, self.state)
        elif self.state is not None:
            program = load_state(program, self.state)
        if options.lm is None or isinstance(options.lm, str):
            model = for_program(program, options.lm)
            options = options.changed(lm=model.lm, adapter=model.adapter)
        name = "-".join([self.target.slug, *state_names([self.state] if self.state else [])])
        if folder is not None:
            options = options.changed(folder=new_folder(folder, name, str(getattr(options.lm, "model", ""))))
        settings = {"program": self.program if self.by_name else name, "split": self.split}
        settings |= {"state": str(self.state)} if self.state else {}
        self._run = evaluate(program, data.examples, self.metric, options, name=name, settings=settings)
        return self._run

    def failure(self, run: Run, name: str, floor: float) -> str:
        """A message about a value that misses its floor; empty if it does not.

        Raises:
            GoldassayError: The run has no value of this name.
        """

        values = {value.name: value for value in (summary.overall(run), *summary.values(run))}
        if name not in values:
            raise GoldassayError(f"no value {name!r} for the floor {floor:g}; there are {', '.join(values)}")
        measured = values[name]
        interval = measured.interval
        lower = measured.lower_is_better
        if target_met(measured.value, floor, lower_is_better=lower):
            return ""
        ends = f" [{interval.low:.4f}, {interval.high:.4f}]" if interval else ""
        side = "over" if lower else "under"
        lines = [f"{name} is {measured.value:.4f}{ends} on {len(run.rows)} examples, {side} {floor:g}"]
        lines += [f"{pattern.count} × {pattern.name}, loss {pattern.loss:.4f}" for pattern in find(run.cases)[:3]]
        return "\n".join([*lines, *([f"goldassay report {run.folder}"] if run.folder else [])])
