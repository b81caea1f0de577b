"""TREC: judgements and runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import goldassay
from goldassay._support.exceptions import DataError
from goldassay.gold import pairs, read
from goldassay.gold.formats import trec
from goldassay.measures import retrieval


def write(file: Path, *rows: str) -> Path:
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


def test_judgements_and_runs(tmp_path: Path) -> None:
    gold = write(tmp_path / "a.qrels", "q1 0 d1 3", "q1 0 d2 0", "q2 0 d1 1")
    pred = write(tmp_path / "a.run", "q1\tQ0\td2\t1\t 1.5\tbm25", "q1 Q0 d1 2 -0.5 bm25")
    both = pairs("retrieval", gold, pred)
    assert both.gold[0] == {"id": "q1", "query": "q1", "relevant": {"d1": 3, "d2": 0}}
    assert both.pred[0]["results"] == [
        {"doc_id": "d2", "score": 1.5, "source": "bm25"},
        {"doc_id": "d1", "score": -0.5, "source": "bm25"},
    ]
    assert both.pred[1] == {"id": "q2", "results": []}
    (warning,) = both.warnings
    assert warning.startswith("1 of 2 gold records have no prediction (q2); they count as empty ones, unless")


def test_topics_give_the_queries_their_text(tmp_path: Path) -> None:
    gold = write(tmp_path / "a.qrels", "q1 0 d1 3")
    topics = write(tmp_path / "topics.tsv", "q1\twat is een museum?")
    assert read(gold, task="retrieval", topics=topics)[0]["query"] == "wat is een museum?"


def test_judgements_and_a_run_beside_each_other(own: Path, real_data: Path) -> None:
    real = real_data / "trec"
    files = [(own / "qrels", own / "run", (2, 3, 2))]
    files += [(real / "qrels.test", real / "results.test", (3, 1500, 561))] if real.is_dir() else []
    for judged, run, (queries, results, relevant) in files:
        both = pairs("retrieval", judged, run, format="trec")
        assert len(both) == queries
        assert sum(len(record["results"]) for record in both.pred) == results
        assert sum(grade > 0 for record in both.gold for grade in record["relevant"].values()) == relevant
        assert both.warnings == []


def complaint(file: Path, side: str = "gold") -> str:
    with pytest.raises(DataError) as caught:
        read(file, format="trec", task="retrieval", side="gold" if side == "gold" else "pred")
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(file.parent) + "/", "")


def test_a_negative_grade_is_not_judged_as_in_trec_eval(tmp_path: Path) -> None:
    import pytrec_eval

    grades = {"q1": {"d1": 1, "d2": -1, "d3": 0, "d4": 2, "d5": -2}, "q2": {"d1": -1}}
    scores = {query: {f"d{n}": 1 / n for n in (2, 1, 6, 3, 5, 4)} for query in grades}
    qrels = write(tmp_path / "a.qrels", *(f"{q} 0 {d} {g}" for q, row in grades.items() for d, g in row.items()))
    run = write(tmp_path / "a.run", *(f"{q} Q0 {d} 1 {s!r} x" for q, row in scores.items() for d, s in row.items()))
    both = pairs("retrieval", qrels, run, format="trec")
    assert [record["relevant"] for record in both.gold] == [{"d1": 1, "d3": 0, "d4": 2}, {}]
    assert both.warnings == [f"3 grades of {qrels} are under 0; these documents count as not judged"]
    ours = {"map": "AP", "ndcg_cut_10": "nDCG@10", "bpref": "Bpref", "recip_rank": "RR", "P_5": "P@5"}
    theirs = pytrec_eval.RelevanceEvaluator(grades, {"map", "ndcg_cut.10", "bpref", "recip_rank", "P.5"})
    card = retrieval.scorecard(both.gold, both.pred, measures=list(ours.values()))
    for name, each in ours.items():
        values = [row[name] for row in theirs.evaluate(scores).values()]
        assert card.values[each] == pytest.approx(sum(values) / len(values)), name
    assert complaint(write(tmp_path / "b.qrels", "q1 0 d2 -1", "q1 0 d2 1")).endswith("d2 is judged twice")


def test_a_grade_that_is_no_number(tmp_path: Path) -> None:
    assert complaint(write(tmp_path / "a.qrels", "q1 0 d1 x")) == (
        "a.qrels:1: record q1: a grade is a whole number, not 'x'"
    )


def test_a_document_judged_twice(tmp_path: Path) -> None:
    file = write(tmp_path / "a.qrels", "q1 0 d1 1", "q1 0 d1 0")
    assert complaint(file) == "a.qrels:2: record q1: document d1 is judged twice"


@pytest.mark.parametrize("score", ["nan", "inf", "-inf"])
def test_a_score_that_is_not_finite(tmp_path: Path, score: str) -> None:
    file = write(tmp_path / "a.run", f"q1 Q0 d1 1 {score} x")
    assert complaint(file, "pred") == f"a.run:1: record q1: the score of d1 is {score}"


def test_a_document_twice_in_a_run(tmp_path: Path) -> None:
    file = write(tmp_path / "a.run", "q1 Q0 d1 1 2.0 x", "q1 Q0 d1 2 1.0 x")
    assert complaint(file, "pred") == "a.run:2: record q1: document d1 is listed twice"


def test_the_wrong_kind_of_file(tmp_path: Path) -> None:
    file = write(tmp_path / "a.qrels", "q1 Q0 d1 1 2.0 x")
    assert complaint(file) == "a.qrels:1: 6 columns, where there are: query 0 document grade, or query document grade"


def test_a_line_cut_off(tmp_path: Path) -> None:
    assert "a.qrels:2: 2 columns, where" in complaint(write(tmp_path / "a.qrels", "q1 0 d1 1", "q1 0"))
    assert "a.qrels:2: 3 columns, where" in complaint(write(tmp_path / "a.qrels", "q1 0 d1 1", "q1 0 5"))


def test_an_unknown_query(tmp_path: Path) -> None:
    gold = write(tmp_path / "a.qrels", "q1 0 d1 1")
    pred = write(tmp_path / "a.run", "q9 Q0 d1 1 2.0 x")
    with pytest.raises(DataError, match=r"a.run: record q9: prediction for a query that gold does not have"):
        pairs("retrieval", gold, pred)


def test_queries_without_judgements_are_left_out_as_in_trec_eval(tmp_path: Path) -> None:
    gold = write(tmp_path / "a.qrels", "q1 0 d1 1")
    pred = write(tmp_path / "a.run", "q8 Q0 d1 1 2.0 x", "q1 Q0 d1 1 2.0 x", "q9 Q0 d1 1 2.0 x")
    aligned = pairs("retrieval", gold, pred)
    assert [record["id"] for record in aligned.pred] == ["q1"]
    message = f"2 of 3 queries of {pred} have no gold record and are left out, as the official scorer does (q8, q9)"
    assert aligned.warnings == [message]


def test_bad_lines_of_a_run_may_be_passed_over(tmp_path: Path) -> None:
    gold = write(tmp_path / "a.qrels", "q1 0 d1 1", "q1 0 d2 1")
    pred = write(
        tmp_path / "a.run", "q1 Q0 d1 1 2.0 x", "q1 Q0 d1 2 1.0 x", "q1 Q0 d2 3 high x", "q1 Q0 d2", "q1 Q0 d3 4 nan x"
    )
    aligned = pairs("retrieval", gold, pred, skip_bad=4)
    assert [result["doc_id"] for result in aligned.pred[0]["results"]] == ["d1"]
    assert aligned.warnings[0].startswith("4 faults were passed over; the first: ")
    with pytest.raises(DataError, match="the score of d3 is nan"):
        pairs("retrieval", gold, pred, skip_bad=3)


def test_an_id_with_a_space_cannot_be_written(tmp_path: Path) -> None:
    record = {"id": "q 1", "relevant": {"d": 1}}
    with pytest.raises(DataError, match="is not allowed in a TREC file"):
        trec.write(tmp_path / "x", [record], "retrieval", "gold")


def test_a_grade_that_is_not_whole_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="record q1: the grade of e is 1.5, and TREC has whole ones"):
        trec.write(tmp_path / "x", [{"id": "q1", "relevant": {"e": 1.5}}], "retrieval", "gold")
    trec.write(tmp_path / "x", [{"id": "q1", "relevant": {"d": 1_000_000}}], "retrieval", "gold")
    assert (tmp_path / "x").read_text(encoding="utf-8") == "q1 0 d 1000000\n"


def test_comments_and_grades_written_with_a_point_are_read_as_trec_eval_10_does(tmp_path: Path) -> None:
    qrels = write(tmp_path / "a.qrels", "# judged by hand", "q1 0 d#1 1.0", "q1 0 d2 0")
    run = write(
        tmp_path / "a.run", "q1 Q0 d#1 1 2.5 x", "# a remark of its own, as long as it likes to be", "q1 Q0 d2 2 1 x"
    )
    both = pairs("retrieval", qrels, run, format="trec")
    assert both.gold[0]["relevant"] == {"d#1": 1, "d2": 0}
    assert [result["doc_id"] for result in both.pred[0]["results"]] == ["d#1", "d2"]
    assert both.warnings == []
    assert "a grade is a whole number, not '0.7'" in complaint(write(tmp_path / "b.qrels", "q1 0 d1 0.7"))


@pytest.mark.parametrize("header", ["query-id\tcorpus-id\tscore\n", ""])
def test_the_three_columns_of_beir(tmp_path: Path, header: str) -> None:
    qrels, run = tmp_path / "qrels.tsv", tmp_path / "run.trec"
    qrels.write_text(f"{header}q1\td1\t2\nq1\td2\t0\nq2\td3\t1\n", encoding="utf-8")
    run.write_text("q1 Q0 d1 1 0.9 x\nq2 Q0 d4 1 0.9 x\n", encoding="utf-8")
    both = pairs("retrieval", qrels, run, format="trec")
    assert [(query["id"], query["relevant"]) for query in both.gold] == [("q1", {"d1": 2, "d2": 0}), ("q2", {"d3": 1})]
    assert retrieval.scorecard(both.gold, both.pred, measures=["RR"]).values["RR"] == 0.5
    qrels.write_text(f"{header}q1\td1\t2\nq1\td2\n", encoding="utf-8")
    with pytest.raises(DataError, match="2 columns, where there are"):
        read(qrels, task="retrieval", format="trec")


@pytest.mark.parametrize(
    ("gold", "pred"),
    [
        ("q.json", "r.json"),
        ("beir.tsv", "r.csv"),
        ("marco.tsv", "ranks.csv"),
    ],
)
def test_judgements_and_runs_of_other_tools(tmp_path: Path, gold: str, pred: str) -> None:
    """Held by query, as pytrec_eval and ranx hold them, or in rows with and without a header: all were refused."""
    texts = {
        "q.json": '{"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1}}',
        "r.json": '{"q1": {"d1": 0.9, "d9": 0.8}, "q2": {"d4": 0.7, "d3": 0.6}, "other": {"d1": 1}}',
        "beir.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td3\t1\n",
        "marco.tsv": "q1\t0\td1\t2\nq1\t0\td2\t0\nq2\t0\td3\t1\n",
        "r.csv": "q_id,doc_id,score\nq1,d1,0.9\nq1,d9,0.8\nq2,d4,0.7\nq2,d3,0.6\n",
        "ranks.csv": "query_id,docid,rank\nq1,d1,1\nq1,d9,2\nq2,d4,1\nq2,d3,2\n",
    }
    for name in (gold, pred):
        (tmp_path / name).write_text(texts[name], encoding="utf-8")
    files = (tmp_path / gold, tmp_path / pred)
    assert goldassay.score("retrieval", *files)["RR"] == 0.75
    run = json.loads(texts["r.json"])
    judged = [json.loads(texts["q.json"]), tmp_path / gold, [{"qid": "q1", "docid": "d1", "rel": 2}]]
    assert [goldassay.score("retrieval", side, run)["RR"] for side in judged] == [0.75, 0.75, 1.0]


def test_a_grade_under_0_is_not_judged_wherever_it_stands(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text('{"q1": {"d1": 2, "d2": -1}}', encoding="utf-8")
    (tmp_path / "words.json").write_text('{"q1": {"d1": "2"}}', encoding="utf-8")
    records = read(tmp_path / "q.json", "retrieval")
    assert (records[0]["relevant"], records.warnings[0][:10]) == ({"d1": 2}, "1 grades o")
    with pytest.raises(DataError, match="no column query"):
        read(tmp_path / "words.json", "retrieval")


def test_a_pair_that_is_listed_twice_is_named(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("q_id,doc_id,score\nq1,d1,0.9\nq1,d1,0.8\n", encoding="utf-8")
    with pytest.raises(DataError, match="d1 is listed twice"):
        read(tmp_path / "r.csv", "retrieval", "pred")
