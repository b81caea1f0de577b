"""A gold set and a program as tests with a floor: a plugin for pytest.

Pytest finds it by its entry point once goldassay is installed. A function that is marked becomes one test for each
floor, and with ``each`` one for each example::

    @goldassay.case("extraction:baseline", gold="heritage", floors={"strict_f1": 0.5})
    def test_extraction(): ...

The program runs once for all of them. A test fails where the value is under its floor, and says by how much, with the
interval and the most costly errors. The function's body runs after that; it may ask for the fixture
``goldassay_run`` (the `Run`) and, with ``each``, for ``goldassay_row`` (the example's row). ``--goldassay-runs FOLDER``
keeps the runs, to look at with ``goldassay report``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from goldassay.exceptions import GoldassayError

if TYPE_CHECKING:
    import dspy

    from goldassay.metric import AnyMetric
    from goldassay.running.example import Program
    from goldassay.running.run import Run
    from goldassay.workspace import Target

MARK, CHECK = "goldassay", "goldassay_check"
FloorCheck = tuple[str, Any, float]
"""A value or a row, its name or place, and the floor."""
TOLD = 3  # error patterns in the message of a failure


def case(
    program: Program,
    *,
    gold: object = None,
    floors: Mapping[str, float] | None = None,
    each: float | None = None,
    sure: bool = False,
    task: str | None = None,
    split: str = "dev",
    metric: AnyMetric | None = None,
    lm: dspy.BaseLM | str | None = None,
    limit: int | None = None,
    threads: int = 1,
) -> Callable[[Any], Any]:
    """Turn a test function into tests of a program on gold; the same as ``@pytest.mark.goldassay(…)``.

    Args:
        program: ``TASK``, ``TASK:NAME`` or ``FILE:NAME``, a DSPy module, or any function of an example's inputs.
        gold: a gold set's name, a file, or examples; by default the gold of the task.
        floors: by the name of a value what it has to reach at least (``metric``: the weighted value); by default the
            metric's targets.
        each: what every example has to score at least, a test an example.
        sure: hold the lower end of the 95 % interval to the floor, not the value.
        task: of a program that does not say it.
        split: which part of gold that has splits: train, dev, test or all.
        metric: a `Metric`, a function of (gold, prediction), or ``FILE[:NAME]``; by default the task's.
        lm: the language model, or its name; by default the local one where the program asks any.
        limit: only the first examples, so many.
        threads: how many examples are worked on at once.

    >>> case("extraction:baseline", gold="heritage", floors={"strict_f1": 0.5}).name
    'goldassay'
    """
    asked = {"gold": gold, "floors": floors, "each": each, "sure": sure, "task": task, "split": split}
    mark: Any = getattr(pytest.mark, MARK)
    decorator: Callable[[Any], Any] = mark(program, **asked, metric=metric, lm=lm, limit=limit, threads=threads)
    return decorator


@dataclass
class MarkedTest:
    """What a mark asks for; gold is read, and the program run, when first needed."""

    program: Any
    gold: Any = None
    floors: Mapping[str, float] | None = None
    each: float | None = None
    sure: bool = False
    task: str | None = None
    split: str = "dev"
    metric: AnyMetric | None = None
    lm: Any = None
    limit: int | None = None
    threads: int = 1
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)

    def checks(self) -> dict[str, FloorCheck]:
        """What is held to what, by the id of its test: values to floors, then examples."""
        floors = dict(
            self.floors or (() if self.floors is not None or self.each is not None else self.measured.targets)
        )
        if not floors and self.each is None:
            raise GoldassayError("a case needs floors={'strict_f1': 0.5}, each=0.5, or a metric with targets")
        found: dict[str, FloorCheck] = {f"{name}>={floor:g}": ("value", name, floor) for name, floor in floors.items()}
        if self.each is not None:
            ids = [str(getattr(one, "id", place)) for place, one in enumerate(self.examples)]
            found |= {f"{name}>={self.each:g}": ("row", place, self.each) for place, name in enumerate(ids)}
        return found

    @property
    def target(self) -> Target:
        """Where the program is, and which task it is for."""
        from goldassay import workspace

        if isinstance(self.program, str):
            return workspace.target(self.program, self.task)
        return workspace.Target(self.task or "own", Path(), type(self.program).__name__)

    @property
    def measured(self) -> Any:
        """The metric."""
        from goldassay import workspace
        from goldassay.metric import Metric

        if self.metric is not None and not isinstance(self.metric, str):
            return self.metric if isinstance(self.metric, Metric) else Metric.of(self.metric)
        if self.metric is None and not isinstance(self.program, str) and self.task is None:
            raise GoldassayError("a program that is given as an object needs metric=… or task=…")
        return workspace.metric(self.target.task, self.metric)

    @property
    def data(self) -> Any:
        """The examples that are asked for, those that a program may learn from, what is searched."""
        from goldassay.cli.evaluate import SplitExamples, examples

        if "data" not in self._kept:
            if self.gold is None or isinstance(self.gold, (str, Path)):
                named = None if self.gold is None else str(self.gold)
                self._kept["data"] = examples(named, self.target, self.split)
            else:
                self._kept["data"] = SplitExamples("given", list(self.gold), [], [])
        return self._kept["data"]

    @property
    def examples(self) -> Sequence[dspy.Example]:
        """The gold examples, so many as are asked for."""
        found: Sequence[Any] = self.data.examples[: self.limit]
        return found

    def run(self, folder: Path | None) -> Run:
        """The program's run, made once."""
        from goldassay.cli.evaluate import prepared
        from goldassay.lm import for_program
        from goldassay.running import evaluate, new_folder

        if "run" not in self._kept:
            named = isinstance(self.program, str)
            made = prepared(self.target, self.data.train, None, self.data.passages) if named else self.program
            lm, adapter = self.lm, None
            if lm is None or isinstance(lm, str):
                model = for_program(made, lm)
                lm, adapter = model.lm, model.adapter
            name = self.target.label.replace(":", "-")
            place = None if folder is None else new_folder(folder, name, str(getattr(lm, "model", "")))
            self._kept["run"] = evaluate(
                made,
                self.examples,
                self.measured,
                lm=lm,
                adapter=adapter,
                threads=self.threads,
                folder=place,
                name=name,
                progress=False,
                settings={"program": str(self.program) if named else name, "split": self.split},
            )
        run: Run = self._kept["run"]
        return run

    def fault(self, run: Run, kind: str, key: Any, floor: float) -> str:
        """What is under its floor, in words; empty where it is reached."""
        from goldassay.measure import target_met

        if kind == "row":
            row = run.rows[key]
            if row.get("error"):  # whatever it scores: what was to be found may be nothing
                return f"{row['id']} failed: {row['error']}"
            if target_met(row["score"], floor):
                return ""
            said = [str(error.get("message") or error["kind"]) for error in row.get("errors", ())[:TOLD]]
            return "\n".join([f"{row['id']} scores {row['score']:.4f}, under {floor:g}", *said])
        from goldassay.reporting import facts
        from goldassay.tuning.patterns import find

        values = {one.name: one for one in (facts.overall(run), *facts.values(run))}
        if key not in values:
            raise GoldassayError(f"no value {key!r} to hold to {floor:g}; there are {', '.join(values)}")
        one = values[key]
        end = one.value
        if self.sure and one.interval:
            end = one.interval.high if one.lower_is_better else one.interval.low
        if target_met(end, floor, lower_is_better=one.lower_is_better):
            return ""
        ends = f" [{one.interval.low:.4f}, {one.interval.high:.4f}]" if one.interval else ""
        what = "; its lower end is under" if self.sure else ", under"
        lines = [f"{key} is {one.value:.4f}{ends} on {len(run.rows)} examples{what} {floor:g}"]
        lines += [f"{each.count} × {each.name}, costs {each.loss:.4f}" for each in find(run.cases)[:TOLD]]
        return "\n".join(lines + ([f"goldassay report {run.folder}"] if run.folder else []))


CASES = pytest.StashKey[dict[Any, MarkedTest]]()


def _case(item: Any) -> MarkedTest | None:
    """The case that a function was marked with: one for all the tests that are made of it."""
    mark = item.get_closest_marker(MARK)
    if mark is None:
        return None
    known = item.config.stash.setdefault(CASES, {})
    key = tuple(map(id, mark.args)), tuple((name, id(value)) for name, value in sorted(mark.kwargs.items()))
    if key not in known:
        try:
            known[key] = MarkedTest(*mark.args, **mark.kwargs)
        except TypeError as error:
            pytest.fail(f"@goldassay.case: {str(error).replace('MarkedTest.__init__()', 'it')}", pytrace=False)
    found: MarkedTest = known[key]
    return found


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--goldassay-runs FOLDER``."""
    group = parser.getgroup("goldassay")
    group.addoption("--goldassay-runs", metavar="FOLDER", type=Path, help="Keep the runs of goldassay's cases there.")


def pytest_configure(config: pytest.Config) -> None:
    """The mark, for ``--strict-markers``."""
    config.addinivalue_line("markers", f"{MARK}(program, gold, floors, each, …): hold a program to floors on gold")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each floor, and for each example where every one has its own."""
    found = _case(metafunc.definition)
    if found is None:
        return
    try:
        checks = found.checks()
    except GoldassayError as error:
        pytest.fail(f"@goldassay.case: {error}", pytrace=False)
    if "goldassay_row" in metafunc.fixturenames and any(kind != "row" for kind, *_ in checks.values()):
        pytest.fail("@goldassay.case: goldassay_row needs each=… alone; give floors to another function", pytrace=False)
    metafunc.fixturenames.append(CHECK)
    metafunc.parametrize(CHECK, list(checks.values()), ids=list(checks))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> None:
    """Hold the value to its floor before the function's own body runs."""
    found = _case(pyfuncitem)
    if found is None:
        return
    try:
        run = found.run(pyfuncitem.config.getoption("--goldassay-runs"))
        said = found.fault(run, *pyfuncitem.callspec.params[CHECK])
    except GoldassayError as error:
        said = str(error)
    if said:
        pytest.fail(said, pytrace=False)


@pytest.fixture
def goldassay_run(request: pytest.FixtureRequest) -> Run:
    """The run of the case that the test was made of."""
    found = _case(request.node)
    if found is None:
        pytest.fail("goldassay_run is for a function with @goldassay.case", pytrace=False)
    try:
        return found.run(request.config.getoption("--goldassay-runs"))
    except GoldassayError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def goldassay_row(request: pytest.FixtureRequest, goldassay_run: Run) -> dict[str, object]:
    """The row of the example that the test is about."""
    _, place, _ = request.node.callspec.params[CHECK]
    row: dict[str, Any] = goldassay_run.rows[place]
    return row
