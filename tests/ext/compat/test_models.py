"""Rankings: the ranks that the data allow, any weights, files; the founding ranking with its three caches."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Response, TextPart, Usage
from typer.testing import CliRunner

from goldassay import workspace
from goldassay._support.exceptions import ConventionError, DataError, GoldassayError
from goldassay._support.progress import quiet
from goldassay.cli import app
from goldassay.ext.compat import ModelRanking, ScorePack
from goldassay.ext.compat.models import CACHES, OUTPUT_FILES, QUESTIONS, reading
from goldassay.gold import load
from goldassay.models.embedding import VARIABLE, Function, register
from goldassay.reporting import ranking
from goldassay.reporting.ranking import firsts, front
from goldassay.running import Run
from goldassay.statistics.paired import ranks

CLI = CliRunner()


def test_a_system_that_is_surely_better_has_one_rank_and_the_others_share() -> None:
    rng = random.Random(1)
    strong = [1.0] * 60
    fair = [float(rng.random() < 0.5) for _ in range(60)]
    other = [float(rng.random() < 0.5) for _ in range(60)]
    assert [str(each) for each in ranks([fair, strong, other], resamples=2000)] == ["2–3", "1", "2–3"]


def test_systems_that_are_alike_keep_every_rank_at_the_level_promised() -> None:
    wrong = 0
    for seed in range(30):
        rng = random.Random(seed)
        systems = [[float(rng.random() < 0.6) for _ in range(40)] for _ in range(3)]
        wrong += any((each.low, each.high) != (1, 3) for each in ranks(systems, resamples=400, seed=seed))
    assert wrong <= 5  # 5 % of 30 is 1.5; more than 5 has a chance of about 0.3 %


def test_leading_depends_on_weights() -> None:
    shares = firsts([{"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}, {"a": 0.4, "b": 0.4}])
    assert shares[0] == pytest.approx(0.5, abs=0.02)  # never the third: 0.4 is under the larger of w and 1 − w
    assert shares[2] == 0
    assert front([1, 1, 2, None], [0.5, 0.6, 0.6, 1.0]) == [False, True, False, False]


def test_runs_are_ranked_under_any_weights(two: list[Run]) -> None:
    systems = ranking.rank(two)
    assert systems[0].value.value == max(run.value for run in two)
    only = ranking.rank(two, {"strict_f1": 1.0})
    assert {each.run.name: each.value.value for each in only} == {run.name: run.values["strict_f1"] for run in two}
    rankings, responses, summary = ranking.texts(systems).values()
    rows = list(csv.DictReader(rankings.splitlines()))
    assert [row["Model"] for row in rows] == [each.name for each in systems]
    assert float(rows[0]["Final_Score"]) == systems[0].value.value
    assert len(list(csv.DictReader(responses.splitlines()))) == sum(len(run.rows) for run in two)
    assert summary.startswith(f"No clear winner: {systems[0].name} leads")
    with pytest.raises(ConventionError, match="not every run has 'bleu'"):
        ranking.rank(two, {"bleu": 1.0})
    with pytest.raises(GoldassayError, match="two systems"):
        ranking.rank(two[:1])


def test_the_command_ranks_programs_and_says_what_is_wrong(tmp_path: Path) -> None:
    arguments = ["compare", "classification", "--program", "keywords", "--program", "nearest", "--limit", "12"]
    out = ["--out", str(tmp_path / "out"), "--json"]
    done = CLI.invoke(app, [*arguments, "--weight", "accuracy=1", *out], catch_exceptions=False)
    assert "classification-keywords" in done.stderr  # without --quiet
    body = json.loads(done.stdout)
    systems = body["ranking"]
    assert {each["name"] for each in systems} == {"classification-keywords", "classification-nearest"}
    assert all(each["value"] == each["values"]["accuracy"] for each in systems)
    assert len(body["comparisons"]) == len(systems[0]["values"])
    assert {each.name for each in (tmp_path / "out").iterdir()} == {*OUTPUT_FILES, "report.html", "runs", "systems.tex"}
    wrong = CLI.invoke(app, [*arguments, "--weight", "accuracy=-1"])
    assert "expects numbers of 0 or more" in str(wrong.exception)


@pytest.fixture
def labelled(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Thirty texts with labels; predictions of which one in ten is wrong, and one in two."""
    gold = [{"id": f"t{i}", "text": f"text {i}", "label": "AM"[i % 2]} for i in range(30)]
    good = [{"id": each["id"], "label": "X" if i % 10 == 0 else each["label"]} for i, each in enumerate(gold)]
    poor = [{"id": each["id"], "label": "A"} for each in gold[1:]]  # and none for the first
    files = tmp_path / "gold.jsonl", tmp_path / "good.jsonl", tmp_path / "poor.jsonl"
    for file, rows in zip(files, (gold, good, poor), strict=True):
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return files


def test_files_of_predictions_stand_beside_a_program(labelled: tuple[Path, Path, Path], tmp_path: Path) -> None:
    gold, good, poor = map(str, labelled)
    program = tmp_path / "mine.py"
    program.write_text(
        "import dspy\ndef program(text):\n    return dspy.Prediction(label='AM'[int(text.split()[1]) % 2])\n"
    )
    task = ["--task", "classification", "--gold", gold, "--split", "all", "--runs", str(tmp_path / "runs")]
    assert CLI.invoke(app, ["eval", f"{program}:program", *task], catch_exceptions=False).exit_code == 0
    (run,) = (tmp_path / "runs").iterdir()
    out = tmp_path / "out"
    arguments = ["compare", "classification", "--gold", gold, "--pred", str(run), "--pred", good, "--pred", poor]
    done = CLI.invoke(app, [*arguments, "--weight", "accuracy=1", "--json", "--out", str(out)], catch_exceptions=False)
    systems = {each["name"]: each for each in json.loads(done.stdout)["ranking"]}
    # the program is right on all, good on 27 of 30, poor on the 14 of its 29 that are A
    assert {name: each["value"] for name, each in systems.items()} == {
        run.name: 1.0,
        "good.jsonl": pytest.approx(27 / 30),
        "poor.jsonl": pytest.approx(14 / 30),
    }
    assert systems["poor.jsonl"]["ranks"] == [3, 3]
    assert systems["good.jsonl"]["seconds"] is None  # nothing ran
    assert "1 of 30 gold records have no prediction" in done.stderr
    rows = list(csv.DictReader((out / "model_rankings.csv").read_text().splitlines()))
    assert [row["Model"] for row in rows] == [run.name, "good.jsonl", "poor.jsonl"]


def test_predictions_for_other_gold_are_refused(labelled: tuple[Path, Path, Path], tmp_path: Path) -> None:
    gold, good, _ = map(str, labelled)
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "z", "label": "A"}\n')
    arguments = ["compare", "classification", "--gold", gold, "--pred", good, "--pred"]
    with pytest.raises(DataError, match="record z: prediction for a document that gold does not have"):
        CLI.invoke(app, [*arguments, str(other)], catch_exceptions=False)


def test_files_are_ranked_under_an_official_protocol(tmp_path: Path) -> None:
    """Three entities on each side: 2 of them match by overlap and type, in the order of the official scorer only 1."""
    rows = ["the", "Royal", "Library", "of", "Delft"]

    def write(name: str, tags: Sequence[str]) -> str:
        body = "\n".join(f"{word}\t{tag}" for word, tag in zip(rows, tags, strict=True))
        (tmp_path / name).write_text(f"TOKEN\tNE-COARSE-LIT\n# document_id = d\n{body}\n", encoding="utf-8")
        return str(tmp_path / name)

    gold = write("HIPE-gold.tsv", ["B-org", "B-loc", "O", "B-org", "I-org"])
    two = write("two.tsv", ["B-org", "I-org", "O", "B-loc", "B-org"])
    none = write("none.tsv", ["O"] * 5)
    arguments = ["compare", "extraction", "--gold", gold, "--pred", two, "--pred", none, "--format", "hipe", "--json"]
    partial = {}
    for protocol in ([], ["--protocol", "hipe"]):
        done = CLI.invoke(app, [*arguments, *protocol, "--out", str(tmp_path / "out")], catch_exceptions=False)
        systems = {each["name"]: each["values"] for each in json.loads(done.stdout)["ranking"]}
        partial[len(protocol)] = systems["two.tsv"]["partial_f1"]
        printed = CLI.invoke(
            app, [*arguments[:-1], *protocol, "--out", str(tmp_path / "shown")], catch_exceptions=False
        )
        assert ("on 1 example, protocol hipe" in printed.output) is bool(protocol)
        scored = CLI.invoke(app, ["score", "extraction", *arguments[2:6], "--format", "hipe", "--json", *protocol])
        assert json.loads(scored.stdout)["values"]["partial_f1"] == partial[len(protocol)]  # as score counts
    assert partial == {0: pytest.approx(2 / 3), 2: pytest.approx(1 / 3)}


def test_quiet_says_nothing_of_progress(tmp_path: Path) -> None:
    arguments = ["compare", "classification", "--program", "keywords", "--program", "nearest", "--limit", "3"]
    done = CLI.invoke(app, [*arguments, "--out", str(tmp_path / "a"), "--quiet"], catch_exceptions=False)
    assert done.stderr == ""
    assert not quiet()  # it holds for one command


def test_the_page_of_a_ranking_opens(two: list[Run], tmp_path: Path, opened: Callable[..., Any]) -> None:
    from goldassay.reporting import pages

    file = tmp_path / "r.html"
    systems = ranking.rank(two)
    file.write_text(pages.report([each.run for each in systems], ranked=systems), encoding="utf-8")
    seen = opened(file)
    assert systems[0].name in seen.page.inner_text("#ranking tbody tr >> nth=0")
    seen.quiet()


class Counting:
    """A reader that counts its calls; it knows two answers."""

    def __init__(self, sure: float) -> None:
        self.sure = sure
        self.calls = 0

    def __call__(self, question: str, contexts: Sequence[str]) -> dict[str, Any]:
        self.calls += 1
        if "shipping" in question:
            raise RuntimeError("no shipping")
        return {"answer": contexts[0] if "return" in question else "", "confidence": self.sure}


def letters(texts: Sequence[str]) -> Any:
    """A small embedder: how often each letter stands in a text."""
    return [[float(text.lower().count(letter)) + 0.01 for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]


letters.name = "letters"  # type: ignore[attr-defined]


def test_the_founding_ranking_caches_and_scores_again_without_a_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "none")  # no token embedder, so no BERTScore and no final score
    models = {"sure": Counting(0.9), "unsure": Counting(0.1)}
    questions: list[str] = []

    def retrieve(question: str) -> list[str]:
        questions.append(question)
        return ["30 days to return it"]

    ranking = ModelRanking(models, retrieve, tmp_path, pack=ScorePack(letters))
    assert ranking.show_cache_status() == dict.fromkeys(CACHES)
    first = ranking.run_evaluation()
    assert {each.name for each in tmp_path.iterdir()} == {*CACHES, *OUTPUT_FILES}
    assert list(first[0]) == [
        "Rank",
        "Model",
        "Accuracy",
        "Quality",
        "Confidence",
        "Speed",
        "Robustness",
        "Final_Score",
    ]
    assert (len(questions), models["sure"].calls) == (8, 8)
    ranking.run_evaluation()
    assert (len(questions), models["sure"].calls) == (8, 8)  # all of it was cached
    models["sure"].calls = 0
    assert ranking.recalculate_metrics_only() == first
    assert models["sure"].calls == 0
    # answerable: .9 for the answer, 0 for the error, .2 for three empty ones; unanswerable: three abstentions
    by_name = {row["Model"]: row for row in first}
    assert by_name["sure"]["Confidence"] == pytest.approx((0.9 + 0 + 3 * 0.2 + 3) / 8)
    # robustness: an answer 1, an error 0, three empty ones .3, three abstentions 1
    assert by_name["sure"]["Robustness"] == pytest.approx((1 + 0 + 3 * 0.3 + 3) / 8)
    assert by_name["sure"]["Accuracy"] is None
    assert by_name["sure"]["Final_Score"] is None
    assert len(ranking.responses) == 2 * len(QUESTIONS)
    ranking.run_evaluation(force_refresh=True)
    assert (len(questions), models["sure"].calls) == (16, 8)
    capsys.readouterr()
    assert ranking.show_cache_status() == {"contexts.csv": 8, "embeddings.csv": 2, "raw_responses.csv": 16}
    assert capsys.readouterr().out == "contexts.csv: 8 rows\nembeddings.csv: 2 rows\nraw_responses.csv: 16 rows\n"
    frames = ranking.rankings_df, ranking.detailed_df
    assert list(frames[0].columns) == list(first[0])
    assert len(frames[1]) == 16
    ranking.clean()
    with pytest.raises(GoldassayError, match="run_evaluation"):
        ranking.recalculate_metrics_only()
    (tmp_path / "contexts.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="clean"):
        ranking.run_evaluation()


def test_the_questions_of_the_document_are_a_gold_set() -> None:
    questions = load("shop").answering.all
    assert [(each.question, each.answers) for each in questions] == [
        (each["question"], each["answers"]) for each in QUESTIONS
    ]
    texts = " ".join(each["text"] for each in load("shop").answering.passages).lower()
    assert all(answer.lower() in texts for each in QUESTIONS for answer in each["answers"])


def test_the_command_ranks_by_five_metrics_from_its_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "none")
    other = tmp_path / "other.py"
    other.write_text(
        "from goldassay import workspace\n"
        "Overlap = workspace.attribute(workspace.root() / 'programs' / 'answering.py', 'Overlap')\n"
        "program = Overlap(threshold=0.1)\n"
    )
    register(Function(letters, "letters"))
    arguments = [
        "compare",
        "answering",
        "--metric",
        "five",
        "--gold",
        "shop",
        "--split",
        "all",
        "--option",
        "embedder=letters",
    ]
    arguments += ["--program", "baseline", "--program", f"{other}:program", "--out", str(tmp_path / "out"), "--json"]
    weights = ["--weight", "quality=0.5", "--weight", "confidence=0.2", "--weight", "robustness=0.3"]
    done = CLI.invoke(app, [*arguments, *weights], catch_exceptions=False)
    rows = json.loads(done.stdout)["rankings"]
    assert [row["Rank"] for row in rows] == [1, 2]
    for row in rows:
        final = 0.5 * row["Quality"] + 0.2 * row["Confidence"] + 0.3 * row["Robustness"]
        assert row["Final_Score"] == pytest.approx(final)
    names = {each.name for each in (tmp_path / "out").iterdir()}
    assert names == {*CACHES, *OUTPUT_FILES}
    responses = (tmp_path / "out" / "raw_responses.csv").read_text()
    again = CLI.invoke(app, [*arguments, *weights], catch_exceptions=False)
    assert json.loads(again.stdout)["rankings"] == rows  # also the seconds: nothing was asked
    assert (tmp_path / "out" / "raw_responses.csv").read_text() == responses
    CLI.invoke(app, [*arguments, *weights, "--force"], catch_exceptions=False)
    assert (tmp_path / "out" / "raw_responses.csv").read_text() != responses


@pytest.mark.nightly
def test_the_overlap_reader_a_model_and_the_tuned_model_are_ranked(root: Path, tmp_path: Path) -> None:
    """A scripted model that answers with its demonstration's words once it has one, and with nothing before."""
    programs = workspace.load(root / "programs" / "answering.py")
    tuned = programs.Reading()
    demonstration = {
        "passages": ["Open on Monday."],
        "question": "When?",
        "reply": programs.Reply(answer="Monday", confidence=1),
    }
    tuned.read.demos = [dspy.Example(**demonstration)]
    tuned.save(str(tmp_path / "state.json"))
    loaded = programs.Reading()
    loaded.load(str(tmp_path / "state.json"))

    class Shown:
        """Copies the first passage where its prompt has a demonstration."""

        def complete(self, request: Any) -> Any:
            turns = [part.text for message in request.messages for part in message.parts if hasattr(part, "text")]
            text = turns[-1].split("»")[0].split("] «")[-1] if len(turns) > 1 else ""
            responses = {"reply": {"answer": text, "confidence": 0.8 if text else 0.1}}
            usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
            ranking = Message.assistant([TextPart(json.dumps(responses))])
            return Response(id=None, model=request.model, message=ranking, finish_reason="stop", usage=usage)

    lm = dspy.LM("scripted/reader", engine=Shown(), cache=False)
    passages = load("shop").answering.passages
    searching = programs.Overlap().index(passages)
    ranking = ModelRanking(
        {
            "overlap": reading(programs.Overlap()),
            "model": reading(programs.Reading(), lm, dspy.JSONAdapter()),
            "tuned": reading(loaded, lm, dspy.JSONAdapter()),
        },
        lambda question: [each["text"] for each in searching.search(question)],
        tmp_path / "out",
        pack=ScorePack(letters, None, {"quality": 0.5, "confidence": 0.2, "robustness": 0.3}),
    )
    rows = {row["Model"]: row for row in ranking.run_evaluation()}
    assert set(rows) == {"overlap", "model", "tuned"}
    # the model says nothing: .2 on five questions that can be answered, 1 on three that cannot
    assert rows["model"]["Confidence"] == pytest.approx((5 * 0.2 + 3 * 1) / 8)
    assert rows["tuned"]["Quality"] > rows["model"]["Quality"]
    assert {row["Rank"] for row in rows.values()} == {1, 2, 3}
    responses = list(csv.DictReader((tmp_path / "out" / "raw_responses.csv").read_text().splitlines()))
    assert [each["Error"] for each in responses] == [""] * 24
