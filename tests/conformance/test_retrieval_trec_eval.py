"""Retrieval against the printed values of trec_eval itself (``out.test``, ``out.test.a``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldassay.gold import pairs
from goldassay.measures import retrieval as r

PRINTED = {
    "map": "AP",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "recip_rank": "RR",
    "rbp": "RBP(p=0.9)",
    "ndcg": "nDCG",
    **{f"P_{k}": f"P@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"recall_{k}": f"R@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"ndcg_cut_{k}": f"nDCG@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"map_cut_{k}": f"AP@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"success_{k}": f"Success@{k}" for k in (1, 5, 10)},
}


@pytest.mark.parametrize("file", ["out.test", "out.test.a"])
def test_printed_values(shared_data: Path, file: str) -> None:
    folder = shared_data / "trec"
    both = pairs("retrieval", folder / "qrels.test", folder / "results.test", format="trec")
    card = r.scorecard(both.gold, both.pred, measures=list(PRINTED.values()))
    seen = 0
    for line in (folder / file).read_text(encoding="utf-8").splitlines():
        name, _, value = line.split()
        if name in PRINTED:
            seen += 1
            ours = card.values[PRINTED[name]]
            assert f"{ours:.4f}" == value, name
    assert seen == (13 if file == "out.test" else len(PRINTED))


def test_unjudged_is_one_minus_judged(tmp_path: Path, real_data: Path) -> None:
    (tmp_path / "qrels.test").write_text("1 0 a 1\n1 0 b 0\n2 0 c 1\n", encoding="utf-8")
    ranked = [("1", "a"), ("1", "x"), ("1", "b"), ("1", "y"), ("2", "c")]
    lines = [f"{query} Q0 {document} 0 {-place} own\n" for place, (query, document) in enumerate(ranked)]
    (tmp_path / "results.test").write_text("".join(lines), encoding="utf-8")
    # 2 of 4 documents and 1 of 1 are judged; of trec_eval's own files it prints unj_5 0.0000 and unj_20 0.0333
    folders = [(tmp_path, 0.75, 0.75), (real_data / "trec", 1.0, 1 - 0.0333)]
    for folder, five, twenty in folders[: 1 + folders[1][0].is_dir()]:
        both = pairs("retrieval", folder / "qrels.test", folder / "results.test", format="trec")
        card = r.scorecard(both.gold, both.pred, measures=["Judged@5", "Judged@20"])
        assert card.values["Judged@5"] == pytest.approx(five)
        assert card.values["Judged@20"] == pytest.approx(twenty, abs=5e-5)
