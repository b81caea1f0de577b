"""Readers on tiny models with random weights, one that points and one that writes, and the program around them.

Spans, windows, abstaining, confidence.
"""

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
from goldassay.lm.readers import LONGEST, ExtractiveReader, GenerativeReader, reader, span

WORDS = "we have a 30 day return policy with full refund what is your shipping takes five days ? .".split()  # noqa: SIM905


def test_the_best_span_is_that_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(4, 60))
        starts, ends = rng.normal(0, 3, n), rng.normal(0, 3, n)
        inside = [False, False, *(bool(rng.random() < 0.8) for _ in range(n - 3)), True]
        first, last, probability, nothing = span(starts, ends, inside)
        known = [0, *(place for place in range(1, n) if inside[place])]
        p, q = (np.exp(one[known]) / np.exp(one[known]).sum() for one in (starts, ends))
        sure = {place: (p[number], q[number]) for number, place in enumerate(known)}
        pairs = {(i, j): sure[i][0] * sure[j][1] for i, j in product(known[1:], known[1:]) if i <= j}
        near = {pair: value for pair, value in pairs.items() if known.index(pair[1]) - known.index(pair[0]) < LONGEST}
        best = max(near, key=lambda pair: near[pair])
        assert (first, last) == best
        assert probability == pytest.approx(near[best])
        assert nothing == pytest.approx(p[0] * q[0])


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ModelError, match=r"goldassay\[transformers\]"):
        ExtractiveReader("any")("What?", ["This."])
    with pytest.raises(ModelError, match=r"goldassay\[transformers\]"):
        reader("any")


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
    pointing = reader(str(tiny))
    assert isinstance(pointing, ExtractiveReader)
    text = "We have a 30 day return policy with full refund."
    found = pointing("What is your return policy?", ["", text])
    assert found == pointing("What is your return policy?", [text])
    assert 0 < found["confidence"] <= 1
    assert found["answer"] == "" or found["answer"] in text
    long = " ".join([text] * 20)  # several windows of 32 tokens
    far = pointing("What is your return policy?", [long])
    assert far["answer"] == "" or far["answer"] in long
    assert far["confidence"] >= found["confidence"] * 0.5
    assert pointing("What?", []) == {"answer": "", "confidence": 0.0}


def test_it_abstains_where_no_answer_is_likelier_everywhere(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pointing = ExtractiveReader(str(tiny))
    _, _, model = pointing._parts
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
    assert pointing("What is your policy?", ["a full refund"])["answer"] == ""
    monkeypatch.setattr(model, "forward", leaning(-20.0))
    assert pointing("What is your policy?", ["a full refund"])["answer"] != ""


def test_a_model_that_is_not_there_is_one_line(tiny: Path) -> None:
    with pytest.raises(ModelError, match="no reader") as raised:
        reader(str(tiny / "nothing"))
    assert "\n" not in str(raised.value)


@pytest.fixture(scope="module")
def writer(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A T5 with one layer of 32 and the same words, whose sentences end with a token of their own."""
    import torch
    import transformers

    place = tmp_path_factory.mktemp("writer")
    names = ["<pad>", "</s>", "<unk>", "question", "context", ":", *dict.fromkeys(WORDS)]
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({name: at for at, name in enumerate(names)}, "<unk>"))
    made.normalizer = tokenizers.normalizers.Lowercase()
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    special = {"unk_token": "<unk>", "pad_token": "<pad>", "eos_token": "</s>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=48, **special).save_pretrained(place)
    torch.manual_seed(9)  # writes seven words and ends
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 1, "num_heads": 4}
    wide = 3.0  # with narrower weights it writes nothing at all
    config = transformers.T5Config(vocab_size=len(names), decoder_start_token_id=0, initializer_factor=wide, **sizes)
    transformers.T5ForConditionalGeneration(config).save_pretrained(place)
    return place


def test_what_is_written_is_as_likely_as_its_tokens(writer: Path) -> None:
    """The confidence beside the model's own: each token given those before it, up to the end."""
    import torch

    writing = reader(str(writer))
    assert isinstance(writing, GenerativeReader)
    question, text = "what is your return policy ?", "we have a full refund"
    found = writing(question, [text, "  "])
    _, tokenizer, model = writing._parts
    asked = tokenizer(f"question: {question} context: {text}", return_tensors="pt")
    written, chance = [0], 1.0
    for _ in range(64):
        with torch.inference_mode():
            scores = model(**asked, decoder_input_ids=torch.tensor([written])).logits[0, -1].softmax(0)
        written.append(int(scores.argmax()))
        chance *= float(scores.max())
        if written[-1] == tokenizer.eos_token_id:
            break
    said = tokenizer.decode(written, skip_special_tokens=True).strip()
    assert said
    assert found["answer"] == said
    assert found["confidence"] == pytest.approx(chance, rel=1e-3)
    other = writing(question, ["five days"])
    both = writing(question, ["five days", text])  # in one batch, the shorter one filled up
    likelier = max(found, other, key=lambda one: one["confidence"])
    assert both["answer"] == likelier["answer"]
    assert both["confidence"] == pytest.approx(likelier["confidence"], rel=1e-3)
    assert writing(question, []) == {"answer": "", "confidence": 0.0}


def test_a_long_passage_is_read_in_parts_that_leave_nothing_out(writer: Path) -> None:
    writing = GenerativeReader(str(writer))
    text = " ".join(f"word{at}" for at in range(200))
    parts = list(writing._windows("what is your policy ?", text))
    _, tokenizer, _ = writing._parts
    assert len(parts) > 5
    assert all(
        len(tokenizer(writing.form.format(question="what is your policy ?", context=one)).input_ids) <= 48
        for one in parts
    )
    reached = 0
    for one in parts:
        at = text.index(one, max(0, reached - len(one)))
        assert at <= reached
        reached = at + len(one)
    assert reached == len(text)
    with pytest.raises(ModelError, match="no room for a passage"):
        writing("what is your policy ? " * 10, [text])


def test_saying_that_there_is_none_is_no_answer(writer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writing = GenerativeReader(str(writer))
    _, tokenizer, _ = writing._parts
    for said in ("No answer.", "unanswerable", "", "<none>"):
        monkeypatch.setattr(tokenizer, "batch_decode", lambda rows, said=said, **_: [said] * len(rows))
        assert writing("what is your policy ?", ["a full refund"]) == {"answer": "", "confidence": 0.0}


def test_a_model_is_asked_in_the_words_that_it_learnt() -> None:
    assert GenerativeReader("google/t5-small").form == "question: {question} context: {context}"
    theirs = GenerativeReader("consciousAI/question-answering-generative-t5-v1-base-s-q-c").form
    assert theirs == "question: {question}</s> question_context: {context}"


def test_they_stand_in_a_ranking_beside_the_baseline(tiny: Path, writer: Path, tmp_path: Path) -> None:
    shop = ["--gold", "shop", "--split", "all"]
    programs = ["--program", "baseline", "--program", f"reader:{tiny}", "--program", f"reader:{writer}"]
    asked = ["compare", "answering", *shop, *programs]
    readers = {f"reader-{tiny.name}", f"reader-{writer.name}"}
    done = CliRunner().invoke(app, [*asked, "--out", str(tmp_path / "a"), "--json"], catch_exceptions=False)
    assert {one["name"] for one in json.loads(done.stdout)["ranking"]} == {"answering-baseline", *readers}
    five = [*asked, "--metric", "five", "--out", str(tmp_path / "b"), "--json"]
    done = CliRunner().invoke(app, five, catch_exceptions=False)
    assert {row["Model"] for row in json.loads(done.stdout)["rankings"]} == {"baseline", *readers}


def test_its_stages_are_those_of_the_waterfall(tiny: Path) -> None:
    kind = workspace.attribute(workspace.root() / "programs" / "answering.py", "Pretrained")
    program = kind(str(tiny)).index([{"id": "p", "text": "we have a full refund"}])
    assert list(program.stages) == ["search", "reader"]
    assert program(question="what is your refund").retrieved_contexts == ["we have a full refund"]
