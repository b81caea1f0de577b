"""Entities, lexical support, embeddings and the founding class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from goldassay import Metric
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.fields import Column
from goldassay.ext.compat import RAGEvaluator, context_entity_recall
from goldassay.measures import answering
from goldassay.measures.answering import (
    ROUGE,
    ContextEntityRecall,
    LexicalSupport,
    SemanticSimilarity,
    bertscore,
    found_entities,
    rouge,
    similarity,
)
from goldassay.models.embedding import Function

GOLD = {"answers": ["Rem Koolhaas"], "reference": "De Kunsthal in Rotterdam is ontworpen door Rem Koolhaas in 1992."}


def recall(contexts: list[str], gold: dict[str, Any] = GOLD, **options: Any) -> float | None:
    tally = ContextEntityRecall(**options)(gold, {"retrieved_contexts": contexts}).tally
    return float(tally.value) if tally.weight else None


def test_context_entity_recall_by_hand() -> None:
    # GE = Kunsthal, Rotterdam, Rem Koolhaas, 1992
    assert recall(["Rem Koolhaas bouwde de kunsthal.", "In 1992 ging zij open; Rem Koolhaas was er."]) == 3 / 4
    assert recall([]) == 0
    assert recall(["Rotterdammer Koolhaas 19923"]) == 0  # parts of words are no entity
    assert recall(["rotterdam"], match="exact") == 0
    assert recall(["Leiden", "Paris"], {"answers": ["Paris", "Leiden"]}) == 1  # two answers are not one name
    assert recall(["A"], {"answers": ["A"], "entities": ["A"]}) == 1  # an answer, not an article
    assert recall(["Rotterdam"], match="exact") == 1 / 4
    assert recall(["x"], {"answers": ["a"], "reference": "geen naam hier"}) is None
    aliases = (("Den Haag", "The Hague", "’s-Gravenhage"),)
    hague = {"answers": ["x"], "entities": ["The Hague", "Den Haag"]}
    assert recall(["in ’s-Gravenhage"], hague, match="alias", aliases=aliases) == 1  # one entity, by any of its names
    assert recall(["in ’s-Gravenhage"], hague) == 0
    ids = {"answers": ["x"], "entities": [{"id": "Q55", "text": "NL"}, {"id": "Q1", "text": "all"}]}
    listed = {"answer": "", "retrieved_contexts": [], "context_entities": [{"id": "Q55", "text": "Holland"}]}
    assert ContextEntityRecall(match="id")(ids, listed).tally.value == 0.5
    with pytest.raises(GoldassayError, match="must list its context_entities"):
        recall(["x"], ids, match="id")
    with pytest.raises(GoldassayError, match="match is exact, normalised, alias or id"):
        ContextEntityRecall(match="fuzzy")


def test_columns_are_names_dotted_paths_and_functions() -> None:
    row = {"context_info": ["Rotterdam"], "model": {"contexts": ["Kunsthal"]}, "truth": "Kunsthal Rotterdam; Delft"}
    result = context_entity_recall([row], retrieved_contexts_column="context_info", reference_column="truth")
    assert result["rows"] == [0.0]  # by patterns the reference names Kunsthal Rotterdam and Delft

    def words(text: str) -> list[str]:
        return text.replace(";", "").split()

    columns: list[tuple[Column, float]] = [
        ("context_info", 1 / 3),
        ("model.contexts", 1 / 3),
        (lambda row: [*row["context_info"], "Delft"], 2 / 3),
    ]
    for column, expected in columns:
        result = context_entity_recall([row], retrieved_contexts_column=column, reference_column="truth", extract=words)
        assert result["context_entity_recall"] == pytest.approx(expected)
    metric = Metric(ContextEntityRecall(), columns={"retrieved_contexts": "rag.ctx", "gold.reference": "my_truth"})
    score = metric({"answers": ["x"], "my_truth": "Delft"}, {"rag": {"ctx": ["In Delft."]}})
    assert score.score == 1
    assert context_entity_recall([{"reference": "", "retrieved_contexts": []}])["context_entity_recall"] is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"retrieved_contexts_column": "nope"}, "record 1, retrieved_contexts: .*no field 'nope'; it has .*model"),
        ({"retrieved_contexts_column": "model.nope"}, "no field 'nope' of 'model.nope'; it has contexts; say where"),
        ({"reference_column": "truth.text"}, "record 1, reference: .*no field 'truth'"),
        ({"retrieved_contexts_column": lambda row: row["nope"]}, "KeyError: 'nope'; say where it is with"),
        ({"retrieved_contexts_column": lambda row: row["model"]["contexts"][3]}, "IndexError"),
    ],
)
def test_a_column_that_is_not_there_is_no_recall_of_zero(columns: dict[str, Any], message: str) -> None:
    whole = {"reference": "Delft", "retrieved_contexts": ["Delft"], "nope": ["Delft"], "truth": {"text": "Delft"}}
    row = {"reference": "Delft", "retrieved_contexts": ["Delft"], "model": {"contexts": ["Delft"]}}
    first = {**whole, "model": {"contexts": ["Delft"] * 4, "nope": ["Delft"]}}
    assert context_entity_recall([first], **columns)["context_entity_recall"] == 1
    with pytest.raises(DataError, match=message) as caught:
        context_entity_recall([first, row], **columns)
    assert "\n" not in str(caught.value)


def test_entities_by_patterns() -> None:
    assert found_entities("The Mauritshuis in The Hague holds 800 works.") == ("Mauritshuis", "Hague", "800")
    assert found_entities("Wanneer werd het Huis van Oranje gebouwd?") == ("Huis van Oranje",)
    assert found_entities("Café Américain, Amsterdam. Amsterdam!") == ("Café Américain", "Amsterdam")


@pytest.mark.parametrize(
    ("text", "context", "expected"),
    [
        ("It opened in 1800.", "It opened in 1800.", 1),  # an identical sentence never scores 0
        ("It didn't open in 1800.", "It did open in 1800.", 0),  # a contradiction never scores 1
        ("It did open in 1800.", "It did not open in 1800.", 0),
        ("Het museum is niet open.", "Het museum is open.", 0),
        ("Le musée n'est pas ouvert.", "Le musée est ouvert.", 0),
        ("It opened in 1900.", "It opened in 1800.", 0),
        ("Delft beat Gouda.", "Gouda beat Delft.", 1 / 3),  # ordered words: one of three in common
        ("It opened in 1800. It burned.", "It opened in 1800.", 3 / 4),  # (1 + 1/2) / 2
        ("", "It opened.", None),
        ("It opened.", "", 0),
    ],
)
def test_lexical_support(text: str, context: str, expected: float | None) -> None:
    tally = LexicalSupport()({}, {"answer": text, "retrieved_contexts": [context]}).tally
    assert (tally.value if tally.weight else None) == (None if expected is None else pytest.approx(expected))


def test_lexical_support_is_not_called_faithfulness() -> None:
    pred = {"answer": "It burned.", "retrieved_contexts": ["It opened."]}
    assert LexicalSupport().key == "lexical_support"
    assert LexicalSupport()({}, pred).errors[0].kind == "unsupported"
    card = answering.scorecard([{"answers": ["x"]}], [pred], embedder=None, tokens=None)
    assert (card.values["faithfulness"], card.values["lexical_support"]) == (None, 0.5)
    card = answering.scorecard([{"answers": ["x"]}], [pred], measures=["faithfulness"])
    assert "faithfulness is not computed: no record has the evidence" in card.warnings[0]


def lengths(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 3.0] for text in texts]


def test_similarity_takes_the_best_reference_and_may_be_negative() -> None:
    signs = Function(lambda texts: [[-1.0 if "not" in text else 1.0] for text in texts], "signs")
    assert similarity(["yes"], ["not so"], signs).tolist() == [-1.0]
    gold = {"answers": ["abcd"], "reference": "ab"}
    from goldassay.models.embedding import register

    name = register(Function(lengths, "test-lengths"))
    result = SemanticSimilarity(name)(gold, {"answer": "abc"}).tally.value
    # cos((3,3),(4,3)) = 21/(√18·5) = 0.9899; cos((3,3),(2,3)) = 15/(√18·√13) = 0.9806
    assert result == pytest.approx(0.98995, abs=1e-4)
    assert SemanticSimilarity(name)(gold, {"answer": " "}).tally.value == 0
    assert SemanticSimilarity(name)({"answers": []}, {"answer": "x"}).tally.weight == 0
    with pytest.raises(GoldassayError, match="lists of texts of one length"):
        similarity(["a", "b"], ["c"], signs)


class Tokens:
    """One token a word, with a direction of its own; ``a`` and ``b`` have the cosine 0.6. 0 opens and closes."""

    name = "words"
    special = frozenset({0})
    table = {"a": [1.0, 0, 0, 0], "b": [0.6, 0.8, 0, 0], "c": [0, 0, 2.0, 0]}

    def __call__(self, texts: Sequence[str], /) -> list[tuple[Any, Any]]:
        rows: list[tuple[Any, Any]] = []
        for text in texts:
            words = text.split()
            ids = [0, *(list(self.table).index(word) + 1 for word in words), 0]
            rows.append((ids, [[0, 0, 0, 1.0], *(self.table[word] for word in words), [0, 0, 0, 1.0]]))
        return rows


def test_bertscore_by_hand() -> None:
    # a–b 0.6, a–a 1, c–anything else 0. P of "a c" against "b": (0.6 + 0)/2; R: 0.6; F1 = 2·0.3·0.6/0.9
    assert bertscore(["a c"], ["b"], Tokens())[0].tolist() == pytest.approx([0.3, 0.6, 0.4])
    assert bertscore(["a", ""], ["a", "a"], Tokens()).tolist() == [[1, 1, 1], [0, 0, 0]]
    assert bertscore(["a c"], ["b"], Tokens(), baseline=0.5)[0].tolist() == pytest.approx([-0.4, 0.2, -0.2])


def test_the_founding_class_keeps_its_keys_and_calls_nothing_what_it_is_not() -> None:
    row = {
        "question": "When did it open?",
        "generated_answer": "It opened in 1800.",
        "gold_answer": "In 1800.",
        "retrieved_context": "It opened in 1800.",
    }
    result = RAGEvaluator(embedder=Function(lengths, "lengths")).evaluate_answer(**row)
    assert set(result["rouge"]) == {"rouge1", "rouge2", "rougeL"}
    assert result["rouge"]["rouge1"] == pytest.approx(2 / 3)  # P 2/4, R 2/2
    assert 0 < result["semantic_similarity"] <= 1
    assert (result["faithfulness"], result["relevance"], result["lexical_support"]) == (None, None, 1)
    assert "llm_judge" not in result


def test_rouge_refuses_what_it_cannot_compare() -> None:
    with pytest.raises(GoldassayError, match="lists of texts of one length"):
        rouge(["a", "b"], ["a"])
    with pytest.raises(GoldassayError, match="predictions and references are lists of texts"):
        rouge("a", ["a"])
    with pytest.raises(GoldassayError, match="kind is 1, 2, L or Lsum, not '3'"):
        ROUGE("3")
    with pytest.raises(GoldassayError, match="tokenizer is rouge-score or unicode"):
        ROUGE("1", tokenizer="spaces")
    assert ROUGE("1")({"answers": []}, {"answer": "x"}).tally.weight == 0


def test_another_script_needs_the_unicode_tokenizer() -> None:
    gold, pred = {"answers": ["Государственный Эрмитаж"]}, {"answer": "Эрмитаж"}
    assert ROUGE("1")(gold, pred).tally.value == 0
    assert ROUGE("1", tokenizer="unicode")(gold, pred).tally.value == pytest.approx(2 / 3)  # P 1/1, R 1/2
    assert ROUGE("1", tokenizer="unicode")({"answers": ["संग्रहालय"]}, {"answer": "संग्रहालय"}).tally.value == 1


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("bad", [None, 5, ["a", "b"]])
def test_the_evaluator_takes_texts(place: int, bad: Any) -> None:
    arguments: list[Any] = ["When?", "In 1800.", "It opened in 1800.", "It opened in 1800."]
    arguments[place] = bad
    with pytest.raises(GoldassayError, match="are lists of texts") as caught:
        RAGEvaluator(embedder=None).evaluate_answer(*arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Эрмитаж основан в 1764 году в Петербурге.", ("Эрмитаж", "1764", "Петербурге")),
        ("Η Αθήνα είναι πρωτεύουσα.", ("Η Αθήνα",)),
        ("Łódź ma ćmę", ("Łódź",)),
        ("E\u0301toile de Paris", ("E\u0301toile de Paris",)),  # an accent behind its letter cuts no name
    ],
)
def test_names_begin_with_a_capital_in_every_script(text: str, names: tuple[str, ...]) -> None:
    assert answering.found_entities(text) == names


def test_sentences_end_before_a_capital_of_any_script() -> None:
    assert answering.sentences("В 1764 г. по указу. Это «музей.» Да.") == ["В 1764 г. по указу.", "Это «музей.", "Да."]
    assert answering.sentences("Er sagte: „Ja.“ Dann ging er.") == ["Er sagte: „Ja.", "Dann ging er."]
