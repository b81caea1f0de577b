"""A report in a real browser, from disk, without a network: every filter, every key, both themes, three widths."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import numpy as np
import pytest
from tests.reporting.conftest import judged

from goldassay import Metric
from goldassay.core.tally import Counts, Evidence
from goldassay.judges.labels import read as read_labels
from goldassay.judges.questions import Question
from goldassay.measures import answering, classification, extraction, records
from goldassay.reporting import pages
from goldassay.reporting.pages.dashboard import entries, listing
from goldassay.reporting.ranking import rank
from goldassay.reporting.summary import RunSummary
from goldassay.reporting.verdicts import differences
from goldassay.results.view import typeset
from goldassay.running import Run
from goldassay.running.evaluate import evaluate
from goldassay.running.head import RunGold, RunHead, RunMeasure
from goldassay.running.rows import Row
from goldassay.tuning.verdict import judge as verdict

Open = Callable[..., Any]
UNNAMED = """[...document.querySelectorAll("table, th, button, a, input, select, [role=img]")].filter((one) =>
  one.tagName === "TABLE" ? !one.caption : one.tagName === "TH" ? !one.scope : one.labels?.length ? false :
  !((one.innerText ?? "").trim() || one.getAttribute("aria-label"))).map((one) => one.outerHTML.slice(0, 80))"""
"""What a screen reader could not name: tables without a caption, heads without a scope, controls without a label."""


@pytest.fixture(scope="module")
def file(two: list[Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("page") / "report.html"
    place.write_text(pages.report(two), encoding="utf-8")
    return place


def test_it_opens_without_a_word_or_a_request(file: Path, opened: Open) -> None:
    seen = opened(file, theme="dark", width=390)
    for theme, width in (("dark", 390), ("light", 820), ("dark", 1280)):
        seen.page.set_viewport_size({"width": width, "height": 900})
        seen.page.emulate_media(color_scheme=theme)
        seen.until(f"document.documentElement.dataset.theme === '{theme}'")
        seen.until("document.documentElement.scrollWidth <= innerWidth")  # it does not scroll sideways
    seen.draw()
    charts = seen.page.query_selector_all("[data-chart]")
    assert all(chart.query_selector("svg") for chart in charts)
    assert seen.page.evaluate(UNNAMED) == []
    seen.quiet()


def test_a_value_is_what_run_json_says(file: Path, opened: Open, two: list[Run]) -> None:
    seen = opened(file, charts=False)
    assert two[1].folder
    prediction = json.loads((two[1].folder / "run.json").read_text())
    text = seen.page.query_selector_all("tr[data-measure=strict_f1] .number")[1]
    assert float(text.get_attribute("data-value")) == prediction["values"]["strict_f1"]
    assert text.text_content() == f"{prediction['values']['strict_f1']:.3f}"


def test_every_filter_shows_what_it_says(file: Path, opened: Open, two: list[Run]) -> None:
    seen = opened(file, hash="#examples", charts=False)
    first, last = two
    n = len(first.rows)
    wrong = sum(1 for row in last.rows if row.errors or row.error)
    gaps = [b.score - a.score for a, b in zip(first.rows, last.rows, strict=True)]
    wanted = {
        "wrong": wrong,
        "right": n - wrong,
        "failed": sum(1 for row in last.rows if row.error),
        "different": sum(a.prediction != b.prediction for a, b in zip(first.rows, last.rows, strict=True)),
        "won": sum(gap > 0 for gap in gaps),
        "lost": sum(gap < 0 for gap in gaps),
        "all": n,
    }
    assert all(0 < count <= n for count in wanted.values())
    for name, count in wanted.items():
        seen.page.click(f"[data-show={name}]")
        assert seen.count() == f"{count} of {n}", name
    seen.page.select_option("[data-facet=half]", label="low")
    assert seen.count() == f"{n // 2} of {n}"
    seen.page.click("#clear")
    seen.page.select_option("#type", label="wrong boundary")
    assert 0 < int(seen.count().split()[0]) < n
    seen.page.click("#clear")
    for order in ("low", "high", "gain", "loss", "slow", "tokens", "order"):
        seen.page.select_option("#sort", order)
        assert seen.count() == f"{n} of {n}"
    assert seen.search("1517") == f"1 of {n}"
    assert seen.search("1517 nowhere") == f"0 of {n}"
    seen.page.click("#clear")
    seen.page.click("nav a[href='#verdict']")
    seen.page.click("#verdict button[data-filter=won] >> nth=0")
    assert seen.count() == f"{wanted['won']} of {n}"
    seen.page.wait_for_selector("#list")
    seen.page.click("nav a[href='#details']")
    seen.page.click("button[data-stratum=language] >> nth=0")
    assert seen.count() == f"{n // 2} of {n}"
    seen.page.click("nav a[href='#details']")
    seen.page.click("button[data-type=TMP] >> nth=0")
    assert seen.page.input_value("#type") != ""
    assert seen.count() == f"{n} of {n}"  # gold has one in every text
    seen.quiet()


def test_the_first_screen_holds_the_verdict_its_interval_and_what_was_lost(
    file: Path, opened: Open, two: list[Run]
) -> None:
    page = opened(file, width=1440, charts=False).page
    _, (difference,), _ = differences([RunSummary(run) for run in two], ["thirds", "fifths"])
    assert page.inner_text(".sentence") == typeset(difference.spoken.sentence)
    assert difference.spoken.sentence.startswith("It is open whether fifths differs from thirds: +")
    for part in (".sentence", "svg.gap", "text=What moved most", "text=Lost examples", "#runs tbody tr >> nth=1"):
        box = page.query_selector(part).bounding_box()
        assert box["y"] + box["height"] < 900, part
    drawn = page.get_attribute("svg.gap", "aria-label")
    assert f"{difference.overall.difference:+.3f}" in drawn
    assert page.inner_text("#runs tbody tr >> nth=1").split()[1] == f"{two[1].value:.3f}"
    if difference.overall.lost:
        page.click("#verdict .links a >> nth=0")
        first = page.inner_text("#verdict .links a >> nth=0").partition("−")[0]
        assert first in difference.overall.lost  # all lost as much, so their order is open
        page.wait_for_selector(f"#detail h2:has-text('{first}')")


def test_a_single_run_shows_its_value_what_costs_most_and_the_worst_examples(
    opened: Open, two: list[Run], tmp_path: Path
) -> None:
    file = tmp_path / "one.html"
    file.write_text(pages.report(two[:1]), encoding="utf-8")
    page = opened(file, charts=False).page
    assert f"thirds reaches {two[0].value:.3f} [" in page.inner_text(".sentence")
    text = page.inner_text(".panel[aria-label='What costs most']")
    assert "wrong boundary" in text or "missed" in text
    assert "all of them" in text
    page.click("text=all of them")
    page.wait_for_selector("#errors", state="visible")
    page.click("nav a[href='#verdict']")
    page.click(".panel:has-text('Worst examples') a >> nth=0")
    page.wait_for_selector("#detail", state="visible")


def test_the_table_of_examples_sorts_hides_columns_and_marks_what_differs(
    file: Path, opened: Open, two: list[Run]
) -> None:
    seen = opened(file, hash="#examples", width=1440, charts=False)
    page = seen.page
    gaps = [after.score - before.score for before, after in zip(two[0].rows, two[1].rows, strict=True)]
    page.click(".head .sort:has-text('change')")
    seen.until("!document.querySelector('#list .item').textContent.includes('…failed')")
    first = page.inner_text("#list .item >> nth=0")
    assert f"+{max(gaps):.3f}" in first
    assert page.get_attribute(".head [role=columnheader]:has-text('change')", "aria-sort") == "descending"
    assert page.query_selector("#list .item .differs")
    page.click(".head .sort:has-text('change')")
    low = min(gaps)
    text = page.inner_text("#list .item >> nth=0")
    assert f"{low:.3f}".replace("-", "−") in text
    before = len(page.query_selector_all(".head [role=columnheader]"))
    page.click(".choose summary")
    page.click("#columns label:has-text('gold') input")
    page.click("#columns label:has-text('language') input")
    page.click("#columns label:has-text('half') input")
    assert len(page.query_selector_all(".head [role=columnheader]")) == before + 1


def test_thumbs_and_comments_stay_and_are_exported_as_labels(file: Path, opened: Open, tmp_path: Path) -> None:
    page = opened(file, hash="#example=e18", charts=False).page
    page.wait_for_selector("#detail h2:has-text('e18')")
    page.click(".thumb[data-label=no]")
    page.fill(".opinion textarea", "the year is cut")
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    page.wait_for_selector(".thumb[data-label=no][aria-pressed=true]")
    with page.expect_download() as download:
        page.click("#export")
    labels = tmp_path / "labels.jsonl"
    download.value.save_as(labels)
    (row,) = map(json.loads, labels.read_text(encoding="utf-8").splitlines())
    assert (row["id"], row["label"], row["reason"], row["run"]) == ("e18", "no", "the year is cut", "fifths")
    question = Question("year", dspy.Signature("text, entities -> verdict"), "yes", {"yes": 1.0, "no": 0.0})
    (item,) = read_labels(labels, question).items
    assert item.label == "no"


def test_records_stand_side_by_side_with_their_differences_marked(opened: Open, tmp_path: Path) -> None:
    record = {"total": 12.5, "vendor": {"city": "Delft"}, "items": [{"name": "pen"}, {"name": "ink"}]}
    gold = [dspy.Example(id="1", text="an invoice", record=record).with_inputs("text")]
    wrong = {"total": 99, "vendor": {"city": "Delft"}, "items": [{"name": "ink"}], "extra": "x"}
    metric = Metric(records.FieldF1())
    evaluate(lambda text: dspy.Prediction(record=wrong), gold, metric, folder=tmp_path / "r", progress=False)
    file = tmp_path / "r.html"
    file.write_text(pages.report([Run.load(tmp_path / "r")]), encoding="utf-8")
    seen = opened(file, hash="#example=1", charts=False)
    seen.page.wait_for_selector(".objects")
    left, right = [
        [mark.inner_text() for mark in side.query_selector_all("mark")]
        for side in seen.page.query_selector_all(".objects > div")
    ]
    assert left == ["12.5", '"pen"']
    assert right == ["99", '"x"']
    seen.quiet()


def test_axe_finds_nothing(file: Path, opened: Open) -> None:
    assert opened(file).violations() == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["labels", "ranking", "judge", "audit", "list"])
def test_axe_finds_nothing_on_any_other_page(opened: Open, two: list[Run], tmp_path: Path, name: str) -> None:
    gold = [dspy.Example(id=str(i), text="t", label="AB"[i % 2]).with_inputs("text") for i in range(40)]
    accuracy = Metric(classification.Accuracy())
    run = evaluate(
        lambda text: dspy.Prediction(label="A", confidence=0.9), gold, accuracy, folder=tmp_path / "r", progress=False
    )
    (tmp_path / "runs").mkdir()
    for at, each in enumerate(two * 2):
        shutil.copytree(str(each.folder), tmp_path / "runs" / f"run-{at}")
    audit = verdict(np.array([[0.5], [0.25], [1.0]] * 5), selection="none")
    OWN_TABS = {"labels": ("verdict", "details"), "ranking": ("verdict",)}  # the others are those of any report
    texts: dict[str, Callable[[], str]] = {
        "labels": lambda: pages.report([run]),
        "ranking": lambda: pages.report(two, ranked=rank(two), title="Ranking"),
        "judge": lambda: pages.report([], views=[judged("x").view()]),
        "audit": lambda: pages.report([], views=[audit.view()], title="Audit"),
        "list": lambda: listing(entries(tmp_path / "runs"), tmp_path / "runs", live=False),
    }
    file = tmp_path / f"{name}.html"
    file.write_text(texts[name](), encoding="utf-8")
    seen = opened(file)
    assert seen.violations(*OWN_TABS.get(name, ())) == []
    seen.quiet()
    if name != "list":
        assert seen.page.query_selector("#verdict .sentence, main > .verdict .sentence")


def test_a_chart_that_was_drawn_in_a_closed_tab_fits_when_it_opens(file: Path, opened: Open) -> None:
    seen = opened(file, width=390)
    seen.draw()
    page = seen.page
    page.evaluate("goldassay.toggle()")
    page.click("nav a[href='#details']")
    page.wait_for_selector("html[data-tab=details]", state="attached")
    seen.until("document.documentElement.scrollWidth <= innerWidth")
    labels = [chart.get_attribute("aria-label") for chart in page.query_selector_all("[data-chart]")]
    assert any("thirds: strict_f1 0.613 [" in label for label in labels)


def test_keys_links_and_marks(file: Path, opened: Open) -> None:
    seen = opened(file, hash="#example=e18", charts=False)
    page = seen.page
    page.wait_for_selector("#detail h2:has-text('e18')")
    marks = [(each.get_attribute("class"), each.inner_text()) for each in page.query_selector_all("#detail .text mark")]
    assert ("extra", "151") not in marks  # inside the missed 1518, it is marked as both
    assert ("both", "151") in marks  # thirds: gold 3–7, predicted 3–6
    assert ("miss", "8") in marks
    assert ("hit", "1518") in marks  # fifths got it
    page.keyboard.press("j")
    page.wait_for_selector("#detail h2:has-text('e19')")
    assert page.evaluate("location.hash") == "#example=e19"
    page.keyboard.press("k")
    page.wait_for_selector("#detail h2:has-text('e18')")
    page.keyboard.press("f")
    assert seen.count().startswith("5 of")  # 1505, 1512, 1519, 1526, 1533
    page.keyboard.press("/")
    page.keyboard.type("f")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.evaluate("document.getElementById('help').open")
    page.click("#close")
    before = page.evaluate("document.documentElement.dataset.theme")
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") != before
    seen.quiet()


def test_prompts_answers_and_failures_are_shown(
    opened: Open, learner: Any, names_program: Any, names_gold: list[Any], tmp_path: Path
) -> None:
    lm = dspy.LM("scripted/learner", engine=learner, cache=False)
    evaluate(names_program, names_gold, Metric(extraction.SpanF1()), lm=lm, folder=tmp_path / "r", progress=False)
    file = tmp_path / "r.html"
    file.write_text(pages.report([Run.load(tmp_path / "r")]), encoding="utf-8")
    seen = opened(file, charts=False)
    seen.page.keyboard.press("j")
    seen.page.wait_for_selector("#detail details.calls")
    seen.page.keyboard.press("p")
    text = seen.page.inner_text("#detail details.calls")
    assert "scripted/learner" in text
    assert "[[ ## text ## ]]" in text
    assert "[[ ## mentions ## ]]" in text
    seen.quiet()


CONTEXT = f"{'The museum is old. ' * 5}It opened in 1885."


def test_claims_citations_and_passages_stand_with_their_verdicts(opened: Open, tmp_path: Path) -> None:
    prediction = dspy.Prediction(
        answer="It opened in 1885. It burnt down.",
        results=[
            {"doc_id": "d1", "score": 2.0, "text": "The museum opened in 1885."},
            {"doc_id": "d2", "text": "A mill."},
        ],
        support={"answer_by_gold": [True, None], "answer_by_context": [[True, False], [False, False]]},
        answer_claims=["it opened in 1885", "it burnt down"],
        citations=[{"sentence": "It opened in 1885.", "together": True, "alone": [True], "without": [False]}, "d1"],
    )
    gold = [
        dspy.Example(
            id="1",
            question="When?",
            answers=["1885"],
            relevant={"d1": 1, "d9": 1},
            context=CONTEXT,
            meta={"title": "Museum"},
        ).with_inputs("question")
    ]
    evaluate(lambda question: prediction, gold, Metric(answering.F1()), folder=tmp_path / "r", progress=False)
    file = tmp_path / "r.html"
    file.write_text(pages.report([Run.load(tmp_path / "r")]), encoding="utf-8")
    seen = opened(file, hash="#examples", charts=False)
    seen.page.wait_for_selector("#detail table")
    rows = [" | ".join(row.split("\t")) for row in seen.page.inner_text("#detail").splitlines()]
    text = "\n".join(" ".join(row.split()) for row in rows)
    assert "it opened in 1885 | ✓ supported | 1 ✓ supported 2 ✗ not supported" in text
    assert "it burnt down | ? unknown | 1 ✗ not supported 2 ✗ not supported" in text
    assert "It opened in 1885. | ✓ supported | 1 ✓ supported" in text
    assert "d1 cited | ✓ grade 1" in text
    assert "Not retrieved: d9 (grade 1)" in text
    assert "{" not in text  # nothing is left as JSON
    assert "title: Museum" in text
    assert seen.page.inner_text("#detail .fields mark") == "1885"  # where gold's answer stands in its text
    assert seen.page.evaluate(UNNAMED) == []
    seen.quiet()


def test_hostile_data_changes_nothing(opened: Open, tmp_path: Path) -> None:
    hostile = (
        "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\u202e\x1b[2J"
    )
    gold = [
        dspy.Example(id=f"{hostile}{i}", question=hostile, answers=["a" * (100_000 if i else 5)]).with_inputs(
            "question"
        )
        for i in range(2)
    ]
    evaluate(
        lambda question: dspy.Prediction(answer=question * 900, confidence=0.5),
        gold,
        Metric(answering.ExactMatch()),
        folder=tmp_path / "r",
        name=hostile,
        progress=False,
    )
    file = tmp_path / "r.html"
    file.write_text(pages.report([Run.load(tmp_path / "r")]), encoding="utf-8")
    seen = opened(file, charts=False)
    for key, number in (("j", 1), ("k", 0), ("j", 1)):
        seen.page.keyboard.press(key)
        seen.page.wait_for_selector(f"#detail h2:has-text('[2J{number}')")
    assert "owned" not in seen.page.title().removesuffix(" – goldassay").replace("document.title='owned'", "")
    assert seen.page.query_selector("#detail img") is None
    assert len(seen.page.query_selector_all("body > script:not([type])")) == 4
    seen.page.evaluate("for (const one of document.querySelectorAll('#detail .whole')) one.click()")
    assert seen.page.evaluate("document.getElementById('detail').textContent.length") > 100_000
    seen.quiet()


@pytest.mark.parametrize("n", [2_000, pytest.param(20_000, marks=pytest.mark.nightly)])
def test_thousands_of_examples_open_scroll_and_are_searched(n: int, opened: Open, tmp_path: Path) -> None:
    rng = random.Random(0)
    words = ["museum", "archief", "collectie", "gracht", "kerk", "toren", "schilderij", "handschrift", "brief", "molen"]
    measures = {"strict_f1": RunMeasure("extraction.SpanF1()", "strict_f1[]", 1.0)}
    rows = []
    for index in range(n):
        right = rng.random() < 0.8
        text = " ".join(rng.choices(words, k=12)) + (" naaldje" if index == n - 1_000 else "")
        rows.append(
            Row(
                index,
                f"x{index}",
                {"strict_f1": {"tp": int(right), "fp": 0, "fn": int(not right)}},
                float(right),
                inputs={"text": text},
                gold={"entities": [{"start": 0, "end": 4, "type": "TOP"}]},
                prediction={"entities": [{"start": 0, "end": 4, "type": "TOP"}] if right else []},
            )
        )
    file = tmp_path / "big.html"
    head = RunHead("big", measures=measures, status="finished", gold=RunGold(n))
    file.write_text(
        pages.report([Run(head, rows, Evidence({"strict_f1": Counts()}, {"strict_f1": 1.0}))]),
        encoding="utf-8",
    )
    seen = opened(file, hash="#examples")
    assert seen.busy() < 15, f"{seen.busy():.2f} s of computing until the list can be used"
    assert seen.count() == f"{n:,} of {n:,}"
    assert seen.search("naaldje") == f"1 of {n:,}"
    seen.page.keyboard.press("Escape")
    seen.page.click("#clear")
    before = seen.busy()
    seen.page.evaluate("""async () => {
        const list = document.getElementById("list");
        list.scrollIntoView();
        for (let i = 0; i < 60; i += 1) {
            list.scrollTop += 5000 + 700 * i;
            await new Promise(requestAnimationFrame);
        }
    }""")
    step = (seen.busy() - before) / 60
    assert step < 0.25, f"{1000 * step:.0f} ms of computing a step of scrolling"
    assert len(seen.page.query_selector_all(".item")) < 60, "only what is on the screen is drawn"
    seen.quiet()


@pytest.mark.parametrize("several", [pytest.param(2, marks=pytest.mark.nightly), 4])
def test_on_paper_it_is_light_and_whole(several: int, opened: Open, two: list[Run], tmp_path: Path) -> None:
    file = tmp_path / "paper.html"
    file.write_text(pages.report((two * 2)[:several]), encoding="utf-8")
    seen = opened(file, theme="dark", width=794)
    seen.draw()
    seen.page.emulate_media(media="print")
    seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert seen.page.evaluate("document.documentElement.dataset.theme") == "light"
    wide = "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth + 1).length"
    seen.until(f"{wide} === 0")
    assert not seen.page.is_visible("#list")
    seen.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert seen.page.evaluate("document.documentElement.dataset.theme") == "dark"
    seen.quiet()
