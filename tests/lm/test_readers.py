"""An extractive reader on a tiny model with random weights: spans, windows, abstaining, the program around it."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from goldassay import workspace
from goldassay.cli import app
from goldassay.exceptions import ModelError
from goldassay.lm.extractive import LONGEST, ExtractiveReader, span

WORDS = "we have a 30 day return policy with full refund what is your shipping takes five days ? .".split()  # noqa: SIM905


def test_the_best_span_is_that_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(4, 60))
        starts, ends = rng.normal(0, 3, n), rng.normal(0, 3, n)
        inside = [False, False, *(bool(rng.random() < 0.8) for _ in range(n - 3)), True]
        found = span(starts, ends, inside)
        known = [0, *(place for place in range(1, n) if inside[place])]
        p, q = (np.exp(one[known]) / np.exp(one[known]).sum() for one in (starts, ends))
        sure = {place: (p[number], q[number]) for number, place in enumerate(known)}
        pairs = {(i, j): sure[i][0] * sure[j][1] for i, j in product(known[1:], known[1:]) if i <= j}
        near = {pair: value for pair, value in pairs.items() if known.index(pair[1]) - known.index(pair[0]) < LONGEST}
        best = max(near, key=lambda pair: near[pair])
        assert (found.first, found.last) == best
        assert found.probability == pytest.approx(near[best])
        assert found.nothing == pytest.approx(p[0] * q[0])


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ModelError, match=r"goldassay\[transformers\]"):
        ExtractiveReader("any")("What?", ["This."])


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT with two layers of 32 and a vocabulary of a few words, saved as people save theirs."""
    torch = pytest.importorskip("torch", reason="needs PyTorch: make oracles")
    transformers = pytest.importorskip("transformers", reason="needs transformers: make oracles")
    place = tmp_path_factory.mktemp("tiny")
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys(WORDS)]
    (place / "vocab.txt").write_text("\n".join(names) + "\n")
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.BertWordPieceTokenizer(str(place / "vocab.txt"), lowercase=True)
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made._tokenizer, model_max_length=32, **special)
    fast.save_pretrained(place)
    torch.manual_seed(3)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = transformers.BertConfig(vocab_size=len(names), max_position_embeddings=64, **sizes)
    transformers.BertForQuestionAnswering(config).save_pretrained(place)
    return place


def test_it_points_into_its_passages(tiny: Path) -> None:
    reader = ExtractiveReader(str(tiny))
    text = "We have a 30 day return policy with full refund."
    found = reader("What is your return policy?", ["", text])
    assert found == reader("What is your return policy?", [text])
    assert 0 < found["confidence"] <= 1
    assert found["answer"] == "" or found["answer"] in text
    long = " ".join([text] * 20)  # several windows of 32 tokens
    far = reader("What is your return policy?", [long])
    assert far["answer"] == "" or far["answer"] in long
    assert far["confidence"] >= found["confidence"] * 0.5
    assert reader("What?", []) == {"answer": "", "confidence": 0.0}


def test_it_abstains_where_no_answer_is_likelier_everywhere(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = ExtractiveReader(str(tiny))
    _, _, model = reader._parts
    bias: Any = model.qa_outputs.bias.data
    kept = model.forward

    def leaning(to: float) -> Any:
        def forward(**given: Any) -> Any:
            out = kept(**given)
            out.start_logits[:, 0] += to
            out.end_logits[:, 0] += to
            return out

        return forward

    assert bias.shape == (2,)
    monkeypatch.setattr(model, "forward", leaning(20.0))
    assert reader("What is your policy?", ["a full refund"])["answer"] == ""
    monkeypatch.setattr(model, "forward", leaning(-20.0))
    assert reader("What is your policy?", ["a full refund"])["answer"] != ""


def test_a_model_that_is_not_there_is_one_line(tiny: Path) -> None:
    with pytest.raises(ModelError, match="no extractive reader"):
        ExtractiveReader(str(tiny / "nothing"))("What?", ["This."])


def test_a_model_that_never_learnt_to_answer_is_refused(tiny: Path, tmp_path: Path) -> None:
    """Its last layer would be drawn at random, and so would its answers."""
    from transformers import AutoTokenizer, BertConfig, BertModel

    AutoTokenizer.from_pretrained(tiny).save_pretrained(tmp_path)
    BertModel(BertConfig.from_pretrained(tiny)).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"\(Bert\) has not learnt to point at answers"):
        ExtractiveReader(str(tmp_path))("What?", ["This."])


def test_it_stands_in_a_ranking_beside_the_baseline(tiny: Path, tmp_path: Path) -> None:
    asked = [
        "rank",
        "answering",
        "--gold",
        "shop",
        "--split",
        "all",
        "--program",
        "baseline",
        "--program",
        f"reader:{tiny}",
    ]
    done = CliRunner().invoke(app, [*asked, "--out", str(tmp_path / "a"), "--json"], catch_exceptions=False)
    names = {one["name"] for one in json.loads(done.stdout)["systems"]}
    assert names == {"answering-baseline", f"reader-{tiny.name}"}
    done = CliRunner().invoke(
        app, [*asked, "--metric", "five", "--out", str(tmp_path / "b"), "--json"], catch_exceptions=False
    )
    assert {row["Model"] for row in json.loads(done.stdout)["rankings"]} == {"baseline", f"reader-{tiny.name}"}


def test_its_stages_are_those_of_the_waterfall(tiny: Path) -> None:
    kind = workspace.attribute(workspace.root() / "programs" / "answering.py", "Extractive")
    program = kind(str(tiny)).index([{"id": "p", "text": "we have a full refund"}])
    assert list(program.stages) == ["search", "reader"]
    assert program(question="what is your refund").retrieved_contexts == ["we have a full refund"]
