"""Entailment and embeddings as judges of support: hand cases with plain classes, and a tiny transformers model."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from goldassay.exceptions import GoldassayError, MissingExtra, ModelError
from goldassay.judges.judge import named
from goldassay.judges.nli import NLI, EntailmentJudge
from goldassay.measures.answering import ClaimRate
from goldassay.measures.judged import Verdict


class Words:
    """Entails what stands in the premise, and contradicts what stands there with a "not"."""

    name = "words"

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    def __call__(self, pairs: Sequence[tuple[str, str]], /) -> list[tuple[float, float]]:
        self.pairs += pairs
        out = []
        for premise, claim in pairs:
            bare = claim.strip(". ")
            same, denied = bare in premise, bare.replace("is", "is not") in premise
            out.append((0.9 if same else 0.1, 0.8 if denied else 0.05))
        return out


TEXT = "It is red. It is not old. It opened in 1885."


def test_support_by_sentence() -> None:
    judge = EntailmentJudge(model := Words())
    assert judge.verdict("support", text=TEXT, claim="It is red.") == Verdict("supported", "It is red.")
    assert judge.verdict("support", text=TEXT, claim="It is old.") == Verdict("contradicted", "It is not old.")
    assert judge.verdict("support", text=TEXT, claim="It is big.") == Verdict("not_stated")
    assert judge.verdict("support", text=" ", claim="It is big.") == Verdict("not_stated")
    # three sentences and the whole text, for three claims; asked again it costs nothing
    assert len(model.pairs) == 3 * 4
    assert judge.verdict("support", text=TEXT, claim="It is red.").label == "supported"
    assert len(model.pairs) == 12
    assert str(judge) == "nli:words@1"


def test_a_claim_of_two_sentences_together() -> None:
    class Both(Words):
        def __call__(self, pairs: Sequence[tuple[str, str]], /) -> list[tuple[float, float]]:
            return [
                (0.9 if "red" in premise and "1885" in premise else 0.3 * ("red" in premise), 0) for premise, _ in pairs
            ]

    assert EntailmentJudge(Both()).verdict("support", text=TEXT, claim="x") == Verdict("supported", "It is red.")


def test_measures_take_it() -> None:
    judge = EntailmentJudge(Words())
    pred = {"answer": "It is red. It is old. It opened in 1885.", "retrieved_contexts": ["It is red.", TEXT]}
    found = ClaimRate("faithfulness", judge)({}, pred)
    assert found.tally.value == pytest.approx(2 / 3)
    assert found.errors[0].message == (
        "The answer says “It is old.”, which no retrieved passage supports. It says otherwise: “It is not old.”."
    )
    assert ClaimRate("claim_precision", judge)({"reference": TEXT}, pred).tally.value == pytest.approx(2 / 3)
    assert "judge=nli:words@1" in ClaimRate("faithfulness", judge).conventions


def test_errors_for_people() -> None:
    with pytest.raises(GoldassayError, match="judges support alone"):
        EntailmentJudge(Words()).verdict("relevance", text="a", claim="b")
    with pytest.raises(GoldassayError, match="needs a model's name"):
        named(" ")


@pytest.mark.skipif(find_spec("transformers") is not None, reason="transformers is installed here")
def test_without_the_extra_it_says_what_to_install() -> None:
    with pytest.raises(MissingExtra, match=r"goldassay\[semantic\]"):
        named("nli:some/model")


TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "it", "is", "not", "red", "old", "opened", "in", "1885", "the", "blue"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier with random weights, 32 tokens long."""
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    raw = Tokenizer(models.WordLevel({word: index for index, word in enumerate(TOKENS)}, unk_token="[UNK]"))
    raw.normalizer, raw.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=32,
    )
    torch.manual_seed(5)
    config = transformers.BertConfig(
        vocab_size=len(TOKENS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=37,
        max_position_embeddings=32,
        initializer_range=0.3,
        id2label={0: "contradiction", 1: "neutral", 2: "entailment"},
        label2id={"contradiction": 0, "neutral": 1, "entailment": 2},
    )
    place = tmp_path_factory.mktemp("nli") / "tiny"
    transformers.BertForSequenceClassification(config).save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


PAIRS = [("It is red.", "The museum is red."), ("It opened in 1885. It is old. It is blue.", "It is not old.")]


def test_a_transformers_model_gives_its_probabilities(folder: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    model = AutoModelForSequenceClassification.from_pretrained(str(folder)).eval()
    expected = []
    for premise, claim in PAIRS:
        with torch.no_grad():
            row = torch.softmax(model(**tokenizer(premise, claim, return_tensors="pt")).logits[0], 0).tolist()
        expected.append((row[2], row[0]))
    mine = NLI(str(folder))
    for found in (mine(PAIRS), NLI(str(folder), batch=1)(PAIRS)):  # padding changes nothing
        assert [x for pair in found for x in pair] == pytest.approx([x for pair in expected for x in pair], abs=1e-5)
    assert abs(expected[0][0] - expected[1][0]) > 1e-3  # the check can fail
    assert mine.name == "tiny"
    mine._pipeline.model.config.id2label = {0: "a", 1: "b", 2: "c"}
    with pytest.raises(ModelError, match="the classes a, b, c: none of them"):
        mine(PAIRS)


def test_a_transformers_model_judges(folder: Path) -> None:
    judge = named(f"nli:{folder}")
    found: Any = ClaimRate("faithfulness", judge)(
        {}, {"answer": "It is red.", "retrieved_contexts": ["It is old. " * 40]}
    )
    assert found.tally.value in (0.0, 1.0)  # a premise longer than the model is cut
    assert str(judge) == "nli:tiny@1"
    with pytest.raises(ModelError, match="no such model folder"):
        named("nli:./absent")
