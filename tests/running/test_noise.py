"""Repeats: the answers to an example become one row, intervals hold both kinds of noise, and no cache helps."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import dspy
import numpy as np
import pytest

from goldassay import Metric, evaluate
from goldassay._support.exceptions import ConventionError, GoldassayError
from goldassay.gold import pairs
from goldassay.measures import classification, extraction
from goldassay.running import Run
from goldassay.running import rows as stored
from goldassay.running.comparing import compare
from goldassay.statistics import interval

ACCURACY = Metric(classification.Accuracy())
SPANS = Metric([extraction.SpanF1(), classification.Accuracy()])
WORDS = [f"word {number}" for number in range(12)]
GOLD = [dspy.Example(id=str(i), text=word, label="M").with_inputs("text") for i, word in enumerate(WORDS)]


class Model:
    """A real endpoint: the k-th answer to word i is right if (i + k) is not a multiple of 3."""

    def __init__(self) -> None:
        self.asked, self.lock, model = Counter[str](), threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                text = body["messages"][-1]["content"]
                word = next(word for word in reversed(WORDS) if word in text)
                with model.lock:
                    model.asked[word] += 1
                    right = (WORDS.index(word) + model.asked[word]) % 3
                answer = f"[[ ## label ## ]]\n{'M' if right else 'L'}\n\n[[ ## completed ## ]]"
                choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}
                usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
                reply = json.dumps(
                    {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
                )
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply.encode())

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def lm(self, **options: Any) -> dspy.LM:
        base = f"http://127.0.0.1:{self.server.server_port}/v1"
        return dspy.LM(f"openai/m{id(self)}", api_base=base, api_key="none", **{"temperature": 0.7, **options})


@pytest.fixture
def model() -> Iterator[Model]:
    model = Model()
    yield model
    model.server.shutdown()
    model.server.server_close()


class Own(dspy.Module):
    """A program whose predictor has a model of its own."""

    def __init__(self, lm: Any) -> None:
        super().__init__()
        self.ask = dspy.Predict("text -> label")
        self.ask.lm = lm

    def forward(self, text: str) -> Any:
        return self.ask(text=text)


@pytest.mark.parametrize("own", [False, True])
def test_every_repeat_asks_the_model_again(model: Model, tmp_path: Path, own: bool) -> None:
    lm = model.lm()
    program = Own(lm) if own else dspy.Predict("text -> label")
    with dspy.context(lm=lm):
        dspy.Predict("text -> label")(text=WORDS[0])  # now it is in DSPy's cache
        assert sum(model.asked.values()) == 1
    settings: dict[str, Any] = {"progress": False, "threads": 4, "folder": tmp_path / "run"}
    run = evaluate(program, GOLD, ACCURACY, lm=None if own else lm, repeats=3, **settings)
    assert set(model.asked.values()) == {3, 4}
    assert (lm.cache, run.cost["calls"], run.cost["cached"]) == (True, 36, 0)
    # of any three answers in a row two are right; the first word's are its second to fourth
    assert (len(run.rows), len(run.answers)) == (12, 36)
    assert run.value == pytest.approx(2 / 3)
    lines = [json.loads(line) for line in (tmp_path / "run" / "rows.jsonl").read_text().splitlines()]
    assert Counter(line["repeat"] for line in lines) == {1: 12, 2: 12, 3: 12}
    assert [row.score for row in run.rows] == pytest.approx([2 / 3] * 12)
    noise = run.noise
    assert noise is not None
    assert (noise.flips.value, noise.varies.value) == (1.0, 1.0)  # type: ignore[union-attr]
    assert noise.pass_at[2].value == 1.0  # 1 - C(1, 2) / C(3, 2)
    assert noise.pass_every[2].value == pytest.approx(1 / 3)  # C(2, 2) / C(3, 2)
    assert noise.pass_every[3].value == 0.0
    again = Run.load(tmp_path / "run")
    assert (again.values, again.intervals, again.noise) == (run.values, run.intervals, noise)


def test_without_repeats_a_model_with_a_temperature_leaves_its_noise_out(model: Model) -> None:
    program = dspy.Predict("text -> label")
    for temperature, expected in ((0.7, "temperature 0.7"), (0.0, "")):
        run = evaluate(program, GOLD[:2], ACCURACY, lm=model.lm(temperature=temperature), progress=False)
        assert [f"asked once, at {expected}: " in warning for warning in run.warnings] == [True] * bool(expected)
    assert evaluate(lambda text: {"label": "M"}, GOLD, ACCURACY, progress=False).warnings == []


class Script:
    """Answers by example and repeat, whatever the order in which threads ask."""

    def __init__(self, answers: dict[str, list[Any]]) -> None:
        self.answers, self.asked, self.lock = answers, Counter[str](), threading.Lock()

    def __call__(self, text: str) -> Any:
        with self.lock:
            self.asked[text] += 1
            answer = self.answers[text][(self.asked[text] - 1) % len(self.answers[text])]
        if isinstance(answer, Exception):
            raise answer
        return answer


SPANNED = [
    dspy.Example(
        id=str(i), text=word, label="M", document=f"d{i // 2}", entities=[(0, 4, "A"), (5, 6, "B")]
    ).with_inputs("text")
    for i, word in enumerate(WORDS[:6])
]
FOUND: list[Any] = [
    {"entities": [(0, 4, "A")], "label": "M"},
    {"entities": [(0, 4, "A"), (5, 6, "B")], "label": "L"},
    {"entities": [(0, 3, "A")], "label": "M"},
]


@pytest.mark.parametrize("threads", [1, 5])
@pytest.mark.parametrize("large", [False, True])
def test_a_corpus_value_is_that_of_the_sums(
    tmp_path: Path, threads: int, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "ROWS_IN_MEMORY", 4 if large else 20_000)
    script = Script({word: FOUND[i % 3 :] + FOUND[: i % 3] for i, word in enumerate(WORDS[:6])})
    run = evaluate(script, SPANNED, SPANS, repeats=3, threads=threads, folder=tmp_path / "run", progress=False)
    # each text once each: tp 1 + 2 + 0, fp 0 + 0 + 1, fn 1 + 0 + 2
    assert run.values == {"strict_f1": pytest.approx(6 / 10), "accuracy": pytest.approx(2 / 3)}
    assert dict(run.rows[0].tallies["strict_f1"]) == {"tp": 1.0, "fp": pytest.approx(1 / 3), "fn": 1.0}
    assert run.clusters == [0, 0, 1, 1, 2, 2]  # a document with all repeats of its examples is one
    assert [case.id for case in run.cases] == [str(i) for i in range(6)]
    assert Run.load(tmp_path / "run").summary()["values"] == run.values


def test_a_failed_answer_is_missed_gold_and_an_example_fails_with_all_of_its_answers() -> None:
    answers: dict[str, list[Any]] = {word: [{"label": "M"}] for word in WORDS}
    answers[WORDS[0]], answers[WORDS[1]] = [ValueError("no")], [{"label": "M"}, ValueError("no")]
    run = evaluate(Script(answers), GOLD, ACCURACY, repeats=2, progress=False)
    assert run.value == pytest.approx((10 + 0 + 0.5) / 12)
    assert (run.failed, run.noise and run.noise.failed) == (1, 3)
    assert run.rows[0].error == "ValueError: no"
    assert not run.rows[1].error


def test_a_metric_of_named_values_counts_failed_answers() -> None:
    def named(gold: Any, pred: Any) -> dict[str, float]:
        return {"right": float(gold["label"] == pred["label"]), "short": 1.0}

    answers: dict[str, list[Any]] = {word: [{"label": "M"}, ValueError("no")] for word in WORDS}
    run = evaluate(Script(answers), GOLD, named, repeats=2, progress=False)
    assert run.values == {"score": 0.5, "right": 0.5, "short": 0.5}


def test_an_interrupted_run_is_resumed_and_may_get_more_repeats(tmp_path: Path) -> None:
    folder, answers = tmp_path / "run", {word: [{"label": "M"}, {"label": "L"}] for word in WORDS}
    whole = evaluate(Script(answers), GOLD, ACCURACY, repeats=2, folder=folder, progress=False)
    lines = (folder / "rows.jsonl").read_text().splitlines(keepends=True)
    assert [json.loads(line)["repeat"] for line in lines] == [1] * 12 + [2] * 12  # all examples once, then again
    (folder / "rows.jsonl").write_text("".join(lines[:17]))
    script = Script(answers)
    script.asked.update(WORDS)
    again = evaluate(script, GOLD, ACCURACY, repeats=2, resume=folder, progress=False)
    assert sum(script.asked.values()) == 12 + 7
    assert (again.values, again.noise) == (whole.values, whole.noise)
    more = evaluate(Script(answers), GOLD, ACCURACY, repeats=4, resume=folder, progress=False)
    assert (len(more.answers), Run.load(folder).repeats) == (48, 4)
    with pytest.raises(ConventionError, match="4 repeats"):
        evaluate(Script(answers), GOLD, ACCURACY, resume=folder, progress=False)
    with pytest.raises(GoldassayError, match="repeats are at least 1"):
        evaluate(Script(answers), GOLD, ACCURACY, repeats=0, progress=False)


def test_the_predictions_of_a_run_with_repeats_are_its_first_answers(tmp_path: Path) -> None:
    answers = {word: [{"label": "M"}, {"label": "L"}] for word in WORDS}
    evaluate(Script(answers), GOLD, ACCURACY, repeats=2, folder=tmp_path / "run", progress=False)
    both = pairs("classification", tmp_path / "run", tmp_path / "run", format="run", pred_format="run")
    assert [record["label"] for record in both.pred] == ["M"] * 12


def test_a_plain_run_gets_repeats(tmp_path: Path) -> None:
    answers = {word: [{"label": "M"}] for word in WORDS}
    evaluate(Script(answers), GOLD, ACCURACY, folder=tmp_path / "run", progress=False)
    script = Script(answers)
    run = evaluate(script, GOLD, ACCURACY, repeats=2, resume=tmp_path / "run", progress=False)
    assert (sum(script.asked.values()), len(run.answers), run.noise is not None) == (12, 24, True)


def test_runs_are_paired_by_example_whatever_their_repeats() -> None:
    better: dict[str, list[Any]] = {word: [{"label": "M"}] for word in WORDS}
    worse = {word: [{"label": "M"}, {"label": "L"}] if i < 8 else [{"label": "M"}] for i, word in enumerate(WORDS)}
    many = evaluate(Script(worse), GOLD, ACCURACY, repeats=4, progress=False)
    once = evaluate(Script(better), GOLD, ACCURACY, progress=False)
    (result,) = compare(many, once)
    assert result.n == 12
    assert result.difference == pytest.approx(1 / 3)
    assert set(result.won) == {str(i) for i in range(8)}
    twice = evaluate(Script(worse), GOLD, ACCURACY, repeats=2, progress=False)
    assert compare(twice, once)[0].p == result.p


@pytest.mark.nightly
def test_ray_and_threads_store_the_same_repeats(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")
    answers = {word: [{"label": "M" if i % 2 else "L"}] for i, word in enumerate(WORDS)}
    runs = [
        evaluate(lambda text: answers[text][0], GOLD, ACCURACY, repeats=2, engine=engine, workers=1, progress=False)
        for engine in ("threads", "ray")
    ]
    rows = [[replace(row, latency_s=None) for row in run.answers] for run in runs]
    assert rows[0] == rows[1]
    assert [row.repeat for row in rows[1]] == [1, 2] * 12


def test_intervals_with_repeats_cover_what_a_single_pass_does_not_tell() -> None:
    """Examples with chances of their own: the interval holds the mean chance, and the parts add up to the variance."""
    rng, covered, errors = np.random.default_rng(5), 0, []
    for _ in range(300):
        chances = rng.beta(2, 2, 60)
        means = rng.binomial(4, chances) / 4
        bounds = interval(means.tolist())
        covered += bounds.low <= 0.5 <= bounds.high
        errors.append(float(means.mean()) - 0.5)
    assert covered / 300 > 0.92
    # Var(mean) = (Var(chance) + E[p (1 - p)] / 4) / 60, with Var = 1/20 and E = 1/5
    assert np.var(errors) == pytest.approx((1 / 20 + 1 / 20) / 60, rel=0.25)
