"""A pytest plugin: a program and a gold set as tests with floors.

Once goldassay is installed, pytest finds the plugin by its entry point. A marked function becomes one test for each
floor::

    @goldassay.case("extraction:baseline", gold="heritage", floors={"strict_f1": 0.5})
    def test_extraction(): ...

The program runs once for all of them. A test fails if the value misses its floor, and shows by how much, with the
interval and the most costly errors. Then the body of the function runs; it may take the fixture ``goldassay_run``
(the `Run`). ``--goldassay-runs FOLDER`` stores the runs, for ``goldassay report``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from goldassay._support.exceptions import GoldassayError

if TYPE_CHECKING:
    from goldassay.core.metric import AnyMetric
    from goldassay.running.guard import Program
    from goldassay.running.run import Run
    from goldassay.tuning.systems import MarkedTest

MARKER = "goldassay"
CHECK = "goldassay_check"


def case(
    program: Program,
    *,
    gold: object = None,
    floors: Mapping[str, float] | None = None,
    metric: AnyMetric | None = None,
    task: str | None = None,
    split: str = "dev",
    state: str | Path | None = None,
    **options: Any,
) -> Callable[[Any], Any]:
    """Turn a test function into tests of a program on gold; the same as ``@pytest.mark.goldassay(…)``.

    Args:
        program: ``TASK``, ``TASK:NAME`` or ``FILE:NAME``, a DSPy module, or any function of an example's inputs.
        gold: The name of a gold set, a file, or examples; by default the gold of the task.
        floors: The floor of each value by its name (``metric``: the weighted value); of an error rate, which is better
            lower, it is the ceiling. By default the metric's targets.
        metric: A `Metric`, a function of (gold, prediction), or ``FILE[:NAME]``; by default the task's.
        task: The task of a program that does not imply it.
        split: The split of gold: train, dev, test or all.
        state: A saved state of the program: a file of ``program.save`` or the folder of a tuning.
        options: Fields of `goldassay.RunOptions`: ``lm``, ``limit``, ``threads``, …

    >>> case("extraction:baseline", gold="heritage", floors={"strict_f1": 0.5}).name
    'goldassay'
    """
    arguments = {"gold": gold, "floors": floors, "metric": metric, "task": task, "split": split, "state": state}
    mark: Any = getattr(pytest.mark, MARKER)
    decorator: Callable[[Any], Any] = mark(program, **arguments, **options)
    return decorator


CASES = pytest.StashKey["dict[int, MarkedTest]"]()


def _case(item: pytest.Item) -> MarkedTest | None:
    """The case of a marked function, shared by all its tests."""
    mark = item.get_closest_marker(MARKER)
    if mark is None:
        return None
    cases = item.config.stash.setdefault(CASES, {})
    if id(mark) not in cases:
        from goldassay.tuning.systems import MarkedTest  # loads DSPy

        try:
            cases[id(mark)] = MarkedTest(*mark.args, **mark.kwargs)
        except (GoldassayError, TypeError) as error:
            file, line, _ = item.location
            message = f"{file}:{(line or 0) + 1}: @goldassay.case: {error}"
            raise pytest.fail.Exception(message, pytrace=False) from None
    return cases[id(mark)]


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--goldassay-runs FOLDER``."""
    group = parser.getgroup("goldassay")
    group.addoption("--goldassay-runs", metavar="FOLDER", type=Path, help="Keep the runs of goldassay's cases there.")


def pytest_configure(config: pytest.Config) -> None:
    """The mark, for ``--strict-markers``."""
    config.addinivalue_line("markers", f"{MARKER}(program, gold, floors, …): hold a program to floors on gold")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each floor."""
    marked = _case(metafunc.definition)
    if marked is not None:
        checks = marked.checks()
        metafunc.fixturenames.append(CHECK)
        metafunc.parametrize(CHECK, list(checks.values()), ids=list(checks))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Check the floor before the body of the function runs."""
    marked = _case(pyfuncitem)
    if marked is None:
        return
    try:
        run = marked.run(pyfuncitem.config.getoption("--goldassay-runs"))
        check: Any = pyfuncitem.callspec.params[CHECK]
        message = marked.failure(run, *check)
    except GoldassayError as error:
        message = str(error)
    if message:
        pytest.fail(message, pytrace=False)


@pytest.fixture
def goldassay_run(request: pytest.FixtureRequest) -> Run:
    """The run of the case."""
    marked = _case(request.node)
    if marked is None:
        pytest.fail("goldassay_run is for a function with @goldassay.case", pytrace=False)
    try:
        return marked.run(request.config.getoption("--goldassay-runs"))
    except GoldassayError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
