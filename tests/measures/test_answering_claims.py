"""Claims, citations and facts: hand tables, unknown verdicts, generated tables."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay._support.exceptions import DataError
from goldassay.measures import answering
from goldassay.measures.answering import CitationRate, ClaimRate, FactualAccuracy, factual_accuracy
from goldassay.measures.answering.claims import CLAIM_RATES, Tables, read_tables, share
from goldassay.measures.answering.grounding import outcome
from goldassay.measures.judged import JudgedMean

# Four claims of the answer, two of gold, two passages. Passage 1 holds gold claim 1: it is relevant, passage 2 is not.
TABLES = {
    "answer_by_gold": (True, False, False, True),
    "gold_by_answer": (True, False),
    "answer_by_context": ((True, False), (True, True), (False, True), (False, False)),
    "gold_by_context": ((True, False), (False, False)),
}
HAND = read_tables(TABLES)
EXPECTED = {
    "claim_precision": 2 / 4,
    "claim_recall": 1 / 2,
    "claim_f1": 1 / 2,  # harmonic mean of 1/2 and 1/2
    "retrieved_claim_recall": 1 / 2,  # gold claim 1
    "context_precision": 1 / 2,  # passage 1
    "context_utilization": 1 / 1,  # gold claim 1 is retrieved and answered
    "faithfulness": 3 / 4,  # claims 1, 2, 3
    "hallucination": 0 / 4,  # claim 4 has no passage, but gold has it
    "self_knowledge": 1 / 4,  # claim 4
    "noise_sensitivity_in_relevant": 1 / 4,  # claim 2 is wrong and passage 1 says it
    "noise_sensitivity_in_irrelevant": 1 / 4,  # claim 3 is wrong and passage 2 alone says it
}


def test_the_hand_table() -> None:
    assert {name: part.value for name, part in values(HAND).items()} == EXPECTED


VERDICT = st.sampled_from([True, False, None])


@st.composite
def tables(draw: st.DrawFn) -> Tables:
    c, g, k = draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    line, row = st.tuples(*[VERDICT] * c), st.tuples(*[VERDICT] * k)
    gold = st.tuples(*[VERDICT] * g)
    drawn = draw(line), draw(gold), draw(st.tuples(*[row] * c)), draw(st.tuples(*[row] * g))
    return read_tables(dict(zip(TABLES, drawn, strict=True)))


def values(tables: Tables) -> dict[str, JudgedMean]:
    return {rate: part for rate in CLAIM_RATES if (part := share(tables, rate)).weight}


def unknown(tables: Tables) -> int:
    return sum(int((table == 0.5).sum()) for table in tables.values())


def completions(tables: Tables) -> list[Tables]:
    """Every way in which the unknown verdicts could have come back."""
    several: list[Tables] = []
    for truths in product([1.0, 0.0], repeat=unknown(tables)):
        rest = iter(truths)
        several.append(
            {
                name: np.array([[next(rest) if v == 0.5 else v for v in row] for row in table])
                for name, table in tables.items()
            }
        )
    return several


@drawn(60)
@given(tables().filter(lambda verdicts: unknown(verdicts) <= 6))
def test_unknown_verdicts_bound_the_truth(verdicts: Tables) -> None:
    for full in completions(verdicts):
        for name, part in values(full).items():
            between = share(verdicts, name)
            assert between.value - 1e-12 <= part.value <= between.most + 1e-12, name


@drawn(60)
@given(tables())
def test_every_claim_is_grounded_known_or_invented_or_not_known(verdicts: Tables) -> None:
    parts = [share(verdicts, name) for name in ("faithfulness", "hallucination", "self_knowledge")]
    certain = sum(part.value for part in parts)
    assert certain <= 1 + 1e-12
    if not unknown(verdicts):
        assert certain == pytest.approx(1)
        assert all(part.value == part.most for part in values(verdicts).values())


def test_an_unknown_verdict_stays_in_the_denominator_the_evidence_and_the_warning() -> None:
    pred = {"answer": "x", "support": {"answer_by_context": [[True], [None]]}, "answer_claims": ["a", "b"]}
    verdicts = ClaimRate("faithfulness")({"answers": ["x"]}, pred)
    assert (verdicts.tally.value, verdicts.tally.highest, verdicts.tally.unknown) == (0.5, 1.0, 1)
    assert [error.kind for error in verdicts.errors] == ["unknown"]
    card = answering.scorecard([{"answers": ["x"]}], [pred], embedder=None, tokens=None)
    assert card.values["faithfulness"] == 0.5
    assert card.warnings == ["Missing verdicts count as not supported: faithfulness lies between 0.5000 and 1.0000"]


def test_errors_name_the_claims() -> None:
    pred = {"answer": "x", "support": TABLES, "answer_claims": [["a", "is", "b"], "c", "d", "e"]}
    assert [error.message for error in ClaimRate("claim_precision")({}, pred).errors] == [
        "The answer says “c”, which the gold answer does not say.",
        "The answer says “d”, which the gold answer does not say.",
    ]
    assert ClaimRate("claim_recall")({}, pred).errors[0].message == (
        "The gold answer says “claim 2”, which the answer leaves out."
    )


def test_without_verdicts_there_is_no_evidence() -> None:
    assert ClaimRate("faithfulness")({"answers": []}, {"answer": ""}).tally.weight == 0
    with pytest.raises(DataError, match="record q, support: expected tables of verdicts"):
        ClaimRate("faithfulness")({}, {"id": "q", "answer": "", "support": [True]})


def test_citations_by_hand() -> None:
    # s1 cites A and B, which together support it, neither alone: both are needed. s2 cites C, which does not.
    rows = [
        {"sentence": "s1", "together": True, "alone": [False, False], "without": [False, False]},
        {"sentence": "s2", "together": False, "alone": [False], "without": [False]},
        {"sentence": "s3", "together": False},
    ]
    pred = {"answer": "s1 s2 s3", "citations": rows}
    assert CitationRate("recall")({}, pred).tally.value == pytest.approx(1 / 3)
    assert CitationRate("precision")({}, pred).tally.value == pytest.approx(2 / 3)
    assert [error.pred for error in CitationRate("recall")({}, pred).errors] == ["s2", "s3"]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # the first carries the sentence alone; the second does not, and the first still does without it
        ({"together": True, "alone": [True, False], "without": [False, True]}, JudgedMean(0.5, 1.0, 0.5, 0.0)),
        ({"together": True, "alone": [True], "without": [False]}, JudgedMean(1.0, 1.0, 1.0, 0.0)),
        ({"together": False, "alone": [False], "without": [False]}, JudgedMean(0.0, 1.0, 0.0, 0.0)),
        ({"together": None, "alone": [None], "without": [False]}, JudgedMean(0.0, 1.0, 1.0, 2.0)),
        ({"together": True, "alone": [None, False], "without": [True, True]}, JudgedMean(0.0, 1.0, 0.5, 1.0)),
    ],
)
def test_a_citation_is_precise_if_it_suffices_or_is_needed(row: dict[str, Any], expected: JudgedMean) -> None:
    assert CitationRate("precision")({}, {"citations": [{"sentence": "a", **row}]}).tally == expected


def test_citations_have_both_verdicts() -> None:
    with pytest.raises(DataError, match=r"citations\[0\]: each citation has a verdict alone and one without it"):
        CitationRate("recall")({}, {"citations": [{"sentence": "a", "together": True, "alone": [True]}]})


@pytest.mark.parametrize(
    ("claim", "fact", "expected"),
    [
        ("The museum opened in 1800", "The museum opened in 1800.", "correct"),
        ("opened in 1800", "It opened in 1800 with a feast", "correct"),
        ("art", "the party started", "unsupported"),  # a part of a word is no match (the founding rule says yes)
        ("opened in 1900", "The museum opened in 1800.", "incorrect"),
        ("did not open in 1800", "It did open in 1800.", "incorrect"),
        ("opened in 1800", "It never opened in 1800.", "incorrect"),
        ("burned in 1800", "The museum opened in 1800.", "unsupported"),
        ("", "The museum opened.", "unsupported"),
        ("1800", "opened in 1900", "unsupported"),
        ("Москва", "Столица — Москва.", "correct"),
        ("It didn't open", "It did open.", "incorrect"),
        ("Le musée n’ouvre pas", "Le musée ouvre à midi.", "incorrect"),
        ("het lag aan 't water", "Het lag aan 't water.", "correct"),
        ("het lag aan water", "Het lag aan 't water.", "unsupported"),  # Dutch “'t” is no negation
        ("it has 1,800 coins", "It has 1800 coins, or 1.800.", "correct"),
        ("it has 1,800 coins", "It has 1,900 coins.", "incorrect"),
    ],
)
def test_what_a_fact_says_of_a_claim(claim: str, fact: str, expected: str) -> None:
    assert outcome(claim, [fact]) == expected


def test_factual_accuracy_keeps_the_founding_names_and_adds_the_third_outcome() -> None:
    claims = [
        {"claim": "opened in 1800", "verifiable": True},
        {"claim": "opened in 1900", "verifiable": True},
        {"claim": "is beautiful", "verifiable": True},
        {"claim": "", "verifiable": True},
        {"claim": "may be nice", "verifiable": False},
    ]
    assert factual_accuracy(claims, [{"fact": "It opened in 1800.", "source": "nl-1"}]) == {
        "factual_accuracy": 0.25,  # 1 of 4 verifiable
        "correct_claims": 1,
        "incorrect_claims": 1,
        "unsupported_claims": 2,
        "unverifiable_claims": 1,
        "total_claims": 5,
    }
    assert factual_accuracy([], [])["factual_accuracy"] is None
    with pytest.raises(DataError, match="expected a list of claims"):
        factual_accuracy([{"claim": 5}], [])


def test_factual_accuracy_pools_claims() -> None:
    gold = {"supporting_facts": ["It opened in 1800."], "answers": ["1800"]}
    total = FactualAccuracy()(gold, {"claims": ["opened in 1800"]}).tally
    total += FactualAccuracy()(gold, {"claims": ["opened in 1900", "burned", "opened in 1800"]}).tally
    assert total.value == 0.5  # 2 of 4 claims
    assert FactualAccuracy()(gold, {"answer": "1800"}).tally.weight == 0


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (  # the answer claims nothing: it recalls nothing, and what was retrieved can still be judged
            {
                "answer_by_gold": [],
                "gold_by_answer": [False, False],
                "answer_by_context": [],
                "gold_by_context": [[True, False], [False, False]],
            },
            {
                "claim_recall": 0.0,
                "claim_f1": 0.0,
                "retrieved_claim_recall": 0.5,
                "context_precision": 0.5,
                "context_utilization": 0.0,
            },
        ),
        (  # gold claims nothing: what the answer says is wrong, and no passage can be relevant
            {
                "answer_by_gold": [False],
                "gold_by_answer": [],
                "answer_by_context": [[True, False]],
                "gold_by_context": [],
            },
            {"claim_precision": 0.0, "claim_f1": 0.0, "faithfulness": 1.0, "hallucination": 0.0, "self_knowledge": 0.0},
        ),
        ({"answer_by_gold": [], "gold_by_answer": [], "answer_by_context": [], "gold_by_context": []}, {}),
    ],
)
def test_a_side_without_claims(tables: dict[str, Any], expected: dict[str, float]) -> None:
    assert {name: part.value for name, part in values(read_tables(tables)).items()} == expected


@pytest.mark.parametrize("bad", [("It opened.", ["x"]), (["x"], "It opened."), (None, ["x"])])
def test_claims_and_facts_are_lists(bad: tuple[Any, Any]) -> None:
    with pytest.raises(DataError, match="expected a list of (claims|facts)"):
        factual_accuracy(*bad)
