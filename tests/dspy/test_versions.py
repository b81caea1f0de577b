"""What has to work under every DSPy from 3.0 to the newest: ``make dspy-matrix`` runs this file against several.

The model is a server on this machine, asked through ``dspy.LM``, so that nothing here depends on a version.
"""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import dspy
import pytest
from tests.models.lm.conftest import Scripted

from goldassay import Metric, evaluate, guard
from goldassay._support.exceptions import DataError
from goldassay.core.shape import shape_of
from goldassay.judges import Judge
from goldassay.measures import classification, extraction
from goldassay.models.lm import TerseAdapter, limited
from goldassay.tuning import tune
from goldassay.tuning.tuner import splits_of

Kind = Literal["museum", "archive"]
METRIC = Metric(classification.Accuracy())


class Label(dspy.Signature):  # type: ignore[misc]
    """What kind of institution is it?"""

    text: str = dspy.InputField()
    label: Kind = dspy.OutputField()


def reply(body: dict[str, Any]) -> str:
    """A museum where a demonstration was shown, else always an archive; a judge's verdict is yes."""
    has_demos, text = len(body["messages"]) > 2, str(body["messages"][-1]["content"])
    label = (
        "museum"
        if has_demos and "museum" in text.partition("[[ ## text ## ]]")[2].partition("Respond")[0]
        else "archive"
    )
    if "criterion" in text:
        return "[[ ## reason ## ]]\nIt does.\n\n[[ ## verdict ## ]]\nyes\n\n[[ ## completed ## ]]"
    return f"[[ ## label ## ]]\n{label}\n\n[[ ## completed ## ]]"


@pytest.fixture
def server() -> Iterator[Scripted]:
    server = Scripted(reply)
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def lm(server: Scripted) -> Any:
    return model(server)


def model(server: Scripted, **options: Any) -> Any:
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    return dspy.LM("openai/scripted", api_base=address, api_key="none", **{"cache": False, **options})


def gold(n: int = 12) -> list[Any]:
    kinds = [("archive", "museum")[i % 2] for i in range(n)]
    names = ["".join(random.Random(i).sample("abcdefghijklmnopqrstuvwxyz", 20)) for i in range(n)]  # no near duplicates
    rows = enumerate(zip(names, kinds, strict=True))
    return [dspy.Example(id=str(i), text=f"{name} {kind}", label=kind).with_inputs("text") for i, (name, kind) in rows]


def test_a_run_counts_calls_and_keeps_prompts(lm: Any, server: Scripted, tmp_path: Path) -> None:
    run = evaluate(dspy.Predict(Label), gold(), METRIC, lm=lm, threads=3, progress=False, folder=tmp_path / "run")
    assert run.value == 0.5
    assert (run.cost["calls"], run.cost["prompt_tokens"], len(server.bodies)) == (12, 132, 12)
    row = run.rows[0]
    assert row.prediction == {"label": "archive"}
    assert "archive" in str(row.calls[0]["answer"])


def test_cached_answers_are_counted_as_cached(server: Scripted) -> None:
    module: Any = dspy
    before = module.cache
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=True)
    try:
        costs = [evaluate(dspy.Predict(Label), gold(4), METRIC, lm=model(server, cache=True), progress=False).cost
                 for _ in range(2)]  # fmt: skip
    finally:
        module.cache = before
    assert [(cost["calls"], cost.get("cached", 0)) for cost in costs] == [(4, 0), (0, 4)]


def test_an_example_that_fails_counts_as_missed() -> None:
    def program(text: str) -> Any:
        if text.endswith("museum"):
            raise ValueError("no")
        return dspy.Prediction(label="archive")

    run = evaluate(program, gold(4), METRIC, progress=False)
    assert (run.value, [bool(row.error) for row in run.rows]) == (0.5, [False, True, False, True])


def test_a_corpus_value_through_dspys_own_evaluate() -> None:
    def program(text: str) -> Any:
        year = re.search(r"\d+", text)
        return dspy.Prediction(entities=[(year.start(), year.end(), "TMP")] if year and "x" not in text else [])

    texts = ("in 1885", "x 1", "in 2", "of 3")
    data = [dspy.Example(text=text, entities=[(text.find(" ") + 1, len(text), "TMP")]).with_inputs("text")
            for text in texts]  # fmt: skip
    metric = Metric(extraction.SpanF1())
    result: Any = dspy.Evaluate(devset=data, metric=metric, num_threads=1, display_progress=False)(guard(program))
    assert float(getattr(result, "score", result)) == pytest.approx(100 * 2 * 3 / 7, abs=0.01)  # micro F1: 3 of 4 found


def test_bootstrapping_takes_only_what_is_right(lm: Any) -> None:
    with dspy.context(lm=lm):
        optimizer = dspy.BootstrapFewShot(metric=METRIC, max_bootstrapped_demos=2, max_labeled_demos=0)
        tuned = optimizer.compile(dspy.Predict(Label), trainset=gold())
    assert [demo["label"] for demo in tuned.demos] == ["archive", "archive"]


def test_tuning_saves_a_program_that_loads(lm: Any, tmp_path: Path) -> None:
    splits = {"train": gold(8), "dev": gold(16)[8:], "test": gold(24)[16:]}
    tuned = tune(dspy.Predict(Label), splits, METRIC, "labeled", lm=lm, progress=False, settings={"k": 2},
                 folder=tmp_path / "tuned")  # fmt: skip
    assert tuned.test is not None
    assert tuned.test.after.values["accuracy"] > tuned.test.before.values["accuracy"]


def test_gold_that_was_labelled_for_another_question_keeps_its_inputs() -> None:
    sampling = {"question": "errors", "stratum": "disagree", "size": 9, "population": 40, "position": 0}
    train = [example.copy(sampling=sampling).with_inputs("text") for example in gold(1)]
    (example,) = splits_of({"train": train})["train"]
    assert "sampling" not in example
    assert [*example.inputs().keys()] == ["text"]


def test_a_judge_asks_its_own_model(lm: Any, server: Scripted) -> None:
    judge = Judge(lm)
    assert judge.verdict("criterion", criterion="It names a month.", question="When?", answer="In May.").label == "yes"
    assert judge.verdict("criterion", criterion="It names a month.", question="When?", answer="In May.").label == "yes"
    assert (judge.calls, judge.tokens, len(server.bodies)) == (1, 18, 1)


def test_the_terse_adapter_reads_what_it_asks_for(server: Scripted) -> None:
    server.replies = ['{"label": "museum"}']
    with dspy.context(lm=model(server), adapter=TerseAdapter()):
        assert dspy.Predict(Label)(text="Rijksmuseum").label == "museum"
    system, user = server.bodies[0]["messages"]
    assert system["content"] == "What kind of institution is it?\nlabel: museum, archive"
    assert user["content"] == "text: Rijksmuseum"


def test_a_rate_limit_holds(lm: Any) -> None:
    run = evaluate(dspy.Predict(Label), gold(4), METRIC, lm=limited(lm, rpm=600), threads=4, progress=False)
    assert sum(row.waited_s for row in run.rows) > 0.25  # one each 0.1 s


def test_the_files_that_evaluate_writes_have_the_scores(tmp_path: Path) -> None:
    gold = [dspy.Example(text=text, label="museum").with_inputs("text") for text in ("museum", "archive")]
    files = {"save_as_json": str(tmp_path / "r.json"), "save_as_csv": str(tmp_path / "r.csv")}
    check = dspy.Evaluate(devset=gold, metric=METRIC, num_threads=1, **files)
    result = check(guard(lambda text: dspy.Prediction(label=text)))
    rows = json.loads((tmp_path / "r.json").read_text())
    table = list(csv.DictReader((tmp_path / "r.csv").read_text().splitlines()))
    for listed in (rows, table):
        assert [float(row["Metric"]) for row in listed] == [1.0, 0.0]
        assert [row["pred_label"] for row in listed] == ["museum", "archive"]
    score = result.results[0][2]
    assert (str(score), f"{score}", f"{score:.2f}", float(score * 2)) == ("1.0", "1.0", "1.00", 2.0)
    assert json.dumps(score.copy(score=0.5)) == '"0.5"'


class Scan(dspy.Signature):  # type: ignore[misc]
    """What kind of institution wrote it?"""

    history: dspy.History = dspy.InputField()
    scan: dspy.Image = dspy.InputField()
    label: Kind = dspy.OutputField()


def test_inputs_that_are_json_become_the_declared_models() -> None:
    """As in gold from a file: a model gets a picture as a picture, and a conversation as its turns."""
    picture = "data:image/png;base64,iVBORw0KGgo="

    def kind(body: dict[str, Any]) -> str:
        is_seen = {"type": "image_url", "image_url": {"url": picture}} in body["messages"][-1]["content"]
        label = "museum" if is_seen and len(body["messages"]) == 4 else "archive"
        return f"[[ ## label ## ]]\n{label}\n\n[[ ## completed ## ]]"

    server = Scripted(kind)
    turns = {"messages": [{"scan": "a letter of many pages " * 20, "label": "archive"}]}
    gold = [
        dspy.Example(id=str(index), history=turns, scan=scan, label="museum").with_inputs("history", "scan")
        for index, scan in enumerate((picture, {"url": picture}))
    ]
    run = evaluate(dspy.Predict(Scan), gold, METRIC, lm=model(server), progress=False)
    server.shutdown()
    server.server_close()
    assert run.values == {"accuracy": 1.0}
    path = dspy.Example(id="a", scan=__file__, history=turns, label="museum").with_inputs("history", "scan")
    with pytest.raises(DataError, match="record a, scan: the signature declares a type of DSPy, and .*base64"):
        evaluate(dspy.Predict(Scan), [path], METRIC, lm=model(server), progress=False)


class HandsOn(dspy.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.ask = dspy.Predict(Scan)

    def forward(self, history, scan):  # type: ignore[no-untyped-def]
        return self.ask(history=history, scan=scan)


class Declares(HandsOn):
    def forward(self, history: dict[str, Any], scan: dspy.Image) -> Any:
        return self.ask(history=history, scan=scan)


class Makes(HandsOn):
    def forward(self, history, scan):  # type: ignore[no-untyped-def]
        return self.ask(history=dspy.History(**history), scan=scan)


class Extends(HandsOn):
    def forward(self, history, scan):  # type: ignore[no-untyped-def]
        longer = dspy.History(messages=[*history.messages, {"role": "user", "content": "And then?"}])
        return self.ask(history=longer, scan=scan)


class Wraps(HandsOn):
    def forward(self, **fields: Any) -> Any:  # type: ignore[override]
        return self.ask(**fields)


@pytest.mark.parametrize(
    ("program", "names"),
    [
        (dspy.ChainOfThought(Scan), {"history", "scan"}),
        (HandsOn(), {"history", "scan"}),
        (Declares(), {"scan"}),
        (Makes(), {"scan"}),
        (Extends(), {"history", "scan"}),
        (Wraps(), {"history", "scan"}),
    ],
)
def test_a_program_that_makes_a_model_itself_gets_json(program: Any, names: set[str]) -> None:
    assert {*shape_of(program).models} == names
