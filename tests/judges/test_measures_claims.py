"""Judged claim measures: all eleven values of RAGChecker's file from its own verdicts, hand tables, unknowns."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Response, TextPart, Usage
from tests.conformance.published import RAGCHECKER

from goldassay import Metric
from goldassay._support.exceptions import GoldassayError
from goldassay.judges.judge import Judge
from goldassay.judges.measures import Criterion
from goldassay.measures import answering
from goldassay.measures.answering.claims import CLAIM_RATES
from goldassay.measures.judged import JudgedMean

THEIRS = {ours: name for name, ours in RAGCHECKER.items()}
ELEVEN = {THEIRS.get(name, name): name for name in CLAIM_RATES}


class Scripted:
    """A model whose claims and verdicts stand in tables: claims by text, labels by (text, claim)."""

    def __init__(self, claims: dict[str, list[str]], labels: dict[tuple[str, str], str]) -> None:
        self.claims, self.labels, self.calls = claims, labels, 0

    def complete(self, request: Any) -> Any:
        self.calls += 1
        turn = [p.text for m in request.messages for p in m.parts if isinstance(p, TextPart)][-1]
        inputs = {name: json.loads(line) for name, line in re.findall(r"\[\[ ## (\w+) ## \]\]\n(\".*\")", turn)}
        if "claim" in inputs:
            label = self.labels.get((inputs["text"], inputs["claim"]), "not_stated")
            says = {"quote": "" if label == "not_stated" else inputs["text"][:20], "verdict": label}
        else:
            says = {"claims": json.dumps(self.claims[inputs["text"]])}
        text = "".join(f"[[ ## {k} ## ]]\n{v}\n" for k, v in says.items()) + "[[ ## completed ## ]]"
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        return Response(
            id=None, model=request.model, message=Message.assistant([TextPart(text)]), finish_reason="stop", usage=usage
        )


def judge_of(claims: dict[str, list[str]], labels: dict[tuple[str, str], str]) -> tuple[Judge, Scripted]:
    engine = Scripted(claims, labels)
    return Judge(dspy.LM("scripted/judge", engine=engine, cache=False)), engine


WORDS = {"Entailment": "supported", "Neutral": "not_stated", "Contradiction": "contradicted"}


def replayed(row: dict[str, Any]) -> tuple[Judge, Scripted, dict[str, Any], dict[str, Any]]:
    """A judge that gives the verdicts of one answer of the file, with that answer and its gold."""
    mine, theirs = ([" ".join(c) for c in row[name]] for name in ("response_claims", "gt_answer_claims"))
    gold, answer = row["gt_answer"], row["response"]
    texts = [doc["text"] for doc in row["retrieved_context"]]
    labels: dict[tuple[str, str], str] = {}
    for claims, text, item in ((mine, gold, "answer2response"), (theirs, answer, "response2answer")):
        labels |= {(text, c): WORDS[v] for c, v in zip(claims, row[item], strict=True)}
    for claims, item in ((mine, "retrieved2response"), (theirs, "retrieved2answer")):
        for c, verdicts in zip(claims, row[item], strict=True):
            labels |= {(text, c): WORDS[v] for text, v in zip(texts, verdicts, strict=True)}
    judge, engine = judge_of({answer: mine, gold: theirs}, labels)
    example = {"question": row["query"], "reference": gold}
    return judge, engine, example, {"answer": answer, "retrieved_contexts": texts}


def test_all_eleven_of_ragchecker(shared_data: Path) -> None:
    file = json.loads((shared_data / "ragchecker" / "checking_outputs.json").read_text(encoding="utf-8"))
    official = {name: mean for group in file["metrics"].values() for name, mean in group.items()}
    assert set(official) == set(ELEVEN)
    totals = dict.fromkeys(ELEVEN, JudgedMean())
    for row in file["results"]:
        judge, engine, gold, pred = replayed(row)
        for name, rate in ELEVEN.items():
            tally = answering.ClaimRate(rate, judge)(gold, pred).tally
            assert tally.value == pytest.approx(row["metrics"][name]), name
            assert (tally.unknown, tally.band) == (0, (tally.value, tally.value))
            totals[name] += tally
        c, g, k = len(row["response_claims"]), len(row["gt_answer_claims"]), len(row["retrieved_context"])
        # two decompositions and the distinct questions of the four tables, however many measures ask
        assert engine.calls <= 2 + c + g + k * (c + g)
        assert judge.asked > 2 * engine.calls
    assert {name: round(100 * float(total.value), 1) for name, total in totals.items()} == official


REFERENCE, ANSWER = "It opened in 1885. It is red.", "It opened in 1885. It is blue."
FIRST, SECOND = "Opened in 1885.", "Blue it is."
GOLD = {"question": "When did the museum open?", "reference": REFERENCE}
PRED = {"answer": ANSWER, "retrieved_contexts": [FIRST, SECOND]}
CLAIMS = {ANSWER: ["opened 1885", "is blue"], REFERENCE: ["opened 1885", "is red"]}
LABELS = {
    (REFERENCE, "opened 1885"): "supported",
    (REFERENCE, "is blue"): "contradicted",
    (ANSWER, "opened 1885"): "supported",
    (ANSWER, "is red"): "contradicted",
    (FIRST, "opened 1885"): "supported",
    (SECOND, "is blue"): "supported",
}
HAND = {
    "precision": 1 / 2,
    "recall": 1 / 2,
    "f1": 1 / 2,
    "claim_recall": 1 / 2,  # passage 1 has “opened 1885”; none has “is red”
    "context_precision": 1 / 2,  # passage 1 of two
    "context_utilization": 1.0,  # “opened 1885” is retrieved, and answered
    "faithfulness": 1.0,
    "hallucination": 0.0,
    "self_knowledge": 0.0,
    "noise_sensitivity_in_relevant": 0.0,
    "noise_sensitivity_in_irrelevant": 1 / 2,  # “is blue” is wrong and stands in passage 2, which has no gold claim
}


@pytest.mark.parametrize("name", ELEVEN)
def test_the_hand_table(name: str) -> None:
    judge, _ = judge_of(CLAIMS, LABELS)
    assert answering.ClaimRate(ELEVEN[name], judge)(GOLD, PRED).tally.value == pytest.approx(HAND[name])


def test_errors_carry_the_quote_that_contradicts() -> None:
    judge, _ = judge_of(CLAIMS, LABELS)
    (error,) = answering.ClaimRate("claim_precision", judge)(GOLD, PRED).errors
    assert (error.kind, error.pred) == ("incorrect", "is blue")
    assert error.message == (
        "The answer says “is blue”, which the gold answer does not say. It says otherwise: “It opened in 1885. I”."
    )
    score = Metric(answering.ClaimRate("claim_precision", judge))(GOLD, PRED)
    assert "It says otherwise" in score.feedback


def test_an_unknown_claim_stays_in_the_denominator_with_a_band() -> None:
    # three claims: supported, contradicted, and one whose verdict is no verdict
    claims = {ANSWER: ["a", "b", "c"]}
    labels = {(REFERENCE, "a"): "supported", (REFERENCE, "b"): "contradicted"}
    judge, _ = judge_of(claims, {**labels, (REFERENCE, "c"): "perhaps"})
    result = answering.ClaimRate("claim_precision", judge)(GOLD, PRED)
    # of the three one holds for certain; with the third for it 2/3
    assert result.tally.band == pytest.approx((1 / 3, 2 / 3))
    assert (result.tally.unknown, judge.unknown) == (1, 1)
    assert [error.kind for error in result.errors] == ["incorrect", "unknown"]


def test_an_unknown_decomposition_is_one_claim_of_unknown_standing() -> None:
    judge, _ = judge_of({ANSWER: []}, {})
    judge.programs["Claims"] = lambda **inputs: dspy.Prediction(claims=None)
    tally = answering.ClaimRate("faithfulness", judge)(GOLD, PRED).tally
    assert (tally.weight, tally.unknown, tally.band) == (1, 2, (0, 1))  # one claim, two passages


def test_what_is_left_out() -> None:
    judge, engine = judge_of({**CLAIMS, "When did the museum open? 1885": ["opened 1885"]}, LABELS)
    assert answering.ClaimRate("claim_precision", judge)({"question": "q", "answers": []}, PRED).tally == JudgedMean()
    assert answering.ClaimRate("claim_precision", judge)({"question": "q"}, PRED).tally == JudgedMean()
    assert answering.ClaimRate("faithfulness", judge)(GOLD, {"answer": "x y z z"}).tally == JudgedMean()
    assert (
        answering.ClaimRate("faithfulness", judge)(GOLD, {"answer": "", "retrieved_contexts": ["x"]}).tally
        == JudgedMean()
    )
    assert engine.calls == 0
    # a short answer is read with its question; nothing retrieved supports nothing
    short = {"answer": "1885", "retrieved_contexts": []}
    assert answering.ClaimRate("faithfulness", judge)(GOLD, short).tally.value == 0
    assert answering.ClaimRate("claim_precision", judge)(GOLD, short).tally.value == 1
    # a program that failed answers nothing: gold's claims are missed
    assert answering.ClaimRate("claim_recall", judge)(GOLD, None).tally == JudgedMean(0.0, 1.0, 0.0, 0.0)


def test_the_repr_is_a_value_and_names_the_judge() -> None:
    judge, _ = judge_of(CLAIMS, LABELS)
    first = answering.ClaimRate("noise_sensitivity_in_irrelevant", judge)
    assert repr(first) == "ClaimRate(rate='noise_sensitivity_in_irrelevant', judge='scripted/judge@1')"
    again = answering.ClaimRate("noise_sensitivity_in_irrelevant", "scripted/judge@1")
    assert (again == first, hash(again) == hash(first), again.bound is judge) == (True, True, True)
    assert first.conventions == (
        "noise_sensitivity_in_irrelevant[judge=scripted/judge@1, average=answers, "
        "no claims=left out, failed=an empty answer, no passages, unknown=in the denominator, not counted as true]"
    )


def test_errors_for_people() -> None:
    with pytest.raises(GoldassayError, match="needs a judge"):
        Criterion(None, "It is short.")
    with pytest.raises(GoldassayError, match="no judge 'nobody@9' is in use"):
        answering.ClaimRate("faithfulness", "nobody@9")(GOLD, PRED)
    judge, _ = judge_of(CLAIMS, LABELS)
    with pytest.raises(GoldassayError, match="rate is claim_precision, .* not 'some'"):
        answering.ClaimRate("some", judge)
