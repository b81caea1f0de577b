"""The campaign's folders: official tables and trees replayed, and what is not there is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

import pytest
from tests.conformance import suites as conform

from goldassay._support.exceptions import DataError, GoldassayError

SYSTEM = "team1_bundle3_hipe2020_de_1"
HEADER = "System\tEvaluation\tLabel\tP\tR\tF1\tF1_std\tP_std\tR_std\tTP\tFP\tFN"


HEAD = "TOKEN\tNE-COARSE-LIT\tNE-FINE-LIT\tNEL-LIT\tMISC"
GOLD = """# document_id = a
Otto B-pers B-pers.ind NIL _
sah O O _ _
Bern B-loc B-loc.adm.town Q70 _
# document_id = b
Genf B-loc B-loc.adm.town Q71 _
"""
GIVEN = """# document_id = a
Otto B-pers B-pers.ind Q1|NIL _
sah O O _ _
Bern B-loc B-loc.adm.nat Q70 _
# document_id = b
Genf O O _ _
"""
# correct, incorrect, partial, missed, spurious: of document a and of document b
RIGHT, MISSED, NOTHING = (1, 0, 0, 0, 0), (0, 0, 0, 1, 0), (0, 0, 0, 0, 0)
OTHER_TYPE = {"strict": (0, 1, 0, 0, 0), "ent_type": (0, 1, 0, 0, 0), "partial": RIGHT, "exact": RIGHT}
SCHEMES = tuple(OTHER_TYPE)
Counted = tuple[int, ...]


def rates(counts: Counted, partial: bool) -> dict[str, float]:
    correct, incorrect, half, missed, spurious = counts
    actual, possible = correct + incorrect + half + spurious, correct + incorrect + half + missed
    worth = correct + 0.5 * half if partial else correct
    precision, recall = worth / actual if actual else 0.0, worth / possible if possible else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {"P": precision, "R": recall, "F1": f1, "actual": actual, "possible": possible}


def official(labels: dict[str, dict[str, list[Counted]]]) -> dict[str, Any]:
    """The official tree of counts by label, scheme and document, as the scorer's own words define its figures."""
    out: dict[str, Any] = {}
    for label in (*labels, "ALL"):
        for scheme in SCHEMES:
            some = [labels[label]] if label != "ALL" else [*labels.values()]
            each = [tuple(map(sum, zip(*(document[scheme][at] for document in some), strict=True))) for at in (0, 1)]
            total = tuple(map(sum, zip(*each, strict=True)))
            whole = rates(total, scheme == "partial")
            figures: dict[str, float | None] = dict(
                zip(("correct", "incorrect", "partial", "missed", "spurious"), total, strict=True)
            )
            figures |= {"possible": whole["possible"], "actual": whole["actual"], "TP": total[0]}
            figures |= {"FP": whole["actual"] - total[0], "FN": whole["possible"] - total[0]}
            by_document = [rates(document, scheme == "partial") for document in each]
            wanted = {"P": ["actual"], "R": ["possible"], "F1": ["actual", "possible"]}
            for rate, needed in wanted.items():
                figures[f"{rate}_micro"] = whole[rate]
                defined = [document[rate] for document in by_document if all(document[name] for name in needed)]
                figures[f"{rate}_macro_doc"] = mean(defined) if defined else None
                figures[f"{rate}_macro_doc_std"] = pstdev(defined) if defined else None
            out.setdefault(label, {})[scheme] = figures
    return out


NERC = official(
    {
        "PERS.IND": {scheme: [RIGHT, NOTHING] for scheme in SCHEMES},
        "LOC.ADM.TOWN": {scheme: [counts, MISSED] for scheme, counts in OTHER_TYPE.items()},
    }
)
NEL = official(  # at 3: NIL stands second among Otto's candidates
    {
        "NIL": {scheme: [RIGHT, NOTHING] for scheme in SCHEMES},
        "Q70": {scheme: [RIGHT, NOTHING] for scheme in SCHEMES},
        "Q71": {scheme: [NOTHING, MISSED] for scheme in SCHEMES},
    }
)
ROWS = 4 * 3 * 6  # micro and macro, fuzzy and strict; two labels and all; six cells
FIGURES = [sum(len(values) for schemes in tree.values() for values in schemes.values()) for tree in (NERC, NEL)]


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Any]:
    """A system of two documents with its official results, laid out as the campaign does."""
    gold, system = (f"{HEAD}\n{text.replace(' ', chr(9))}" for text in (GOLD, GIVEN))
    return laid_out(tmp_path, gold, system, NERC, NEL)


def laid_out(folder: Path, gold: str, system: str, nerc: dict[str, Any], nel: dict[str, Any]) -> dict[str, Any]:
    places = {name: folder / "hipe2022" / name for name in ("gold", "systems", "official")}
    for place in places.values():
        place.mkdir(parents=True)
    (places["gold"] / "HIPE-2022-v2.1-hipe2020-test-de.tsv").write_text(gold, encoding="utf-8")
    (places["systems"] / f"{SYSTEM}.tsv").write_text(system, encoding="utf-8")
    (places["official"] / f"{SYSTEM}_nerc_fine.tsv").write_text(table("NE-FINE-LIT", nerc), encoding="utf-8")
    whole = {"NE-FINE-LIT": {"TIME-ALL": {"LED-ALL": nerc}}}
    (places["official"] / f"{SYSTEM}_nerc_fine.json").write_text(json.dumps(whole), encoding="utf-8")
    linked = {"3": {"NEL-LIT": {"TIME-ALL": {"LED-ALL": nel}}}}
    (places["official"] / f"{SYSTEM}_nel.json").write_text(json.dumps(linked), encoding="utf-8")
    return places


def table(column: str, results: dict[str, Any]) -> str:
    """The official table of these results: micro and by document, fuzzy and strict, three places."""
    lines = [HEADER]
    for average in ("micro", "macro_doc"):
        for regime, scheme in (("fuzzy", "ent_type"), ("strict", "strict")):
            for label, schemes in sorted(results.items()):
                values = schemes[scheme]
                cells = [cell(values[f"{rate}_{average}"]) for rate in ("P", "R", "F1")]
                spread = [cell(values[f"{rate}_macro_doc_std"]) for rate in ("F1", "P", "R")]
                counts = [str(values[name]) for name in ("TP", "FP", "FN")]
                cells += ["", "", "", *counts] if average == "micro" else [*spread, "", "", ""]
                lines.append("\t".join([SYSTEM, f"{column}-{average}-{regime}-TIME-ALL-LED-ALL", label, *cells]))
    return "\n".join(lines) + "\n"


def cell(value: float | None) -> str:
    return "" if value is None or value != value else str(round(value, 3))


def test_every_number_of_the_campaign_is_replayed(folders: dict[str, Any]) -> None:
    assert (NERC["ALL"]["strict"]["TP"], NERC["ALL"]["strict"]["FP"], NERC["ALL"]["strict"]["FN"]) == (1, 1, 2)
    (result,) = conform.run(folders["gold"].parents[1], ["hipe2022"])
    total = ROWS + sum(FIGURES)
    assert (result.reproduced, result.total, result.differences) == (total, total, [])


def test_the_scorers_own_bundle_is_replayed_as_a_campaign(shared_data: Path, tmp_path: Path) -> None:
    unit = shared_data / "hipe-scorer"
    gold, system = (
        (unit / f"unittest-{side}_bundle3_de_2020.tsv").read_text(encoding="utf-8") for side in ("true", "pred")
    )
    nerc, nel = (
        json.loads((unit / f"unittest-pred_bundle3_de_2020.ref_results_{name}.json").read_text(encoding="utf-8"))
        for name in ("nerc_fine", "nel")
    )
    laid_out(tmp_path, gold, system, nerc, nel)
    (result,) = conform.run(tmp_path, ["hipe2022"])
    # table: 4 (micro, macro × fuzzy, strict) · 6 labels · 6 cells; trees: 472 and 700 figures
    assert (result.reproduced, result.total, result.differences) == (144 + 472 + 700, 144 + 472 + 700, [])


def test_a_wrong_number_and_a_missing_file_are_said(folders: dict[str, Any]) -> None:
    path = folders["official"] / f"{SYSTEM}_nerc_fine.tsv"
    path.write_text(path.read_text(encoding="utf-8").replace("\t0.333\t0.4\t", "\t0.333\t0.41\t", 1), encoding="utf-8")
    (folders["official"] / "team9_bundle4_ajmc_fr_2_nerc_coarse.tsv").write_text(HEADER, encoding="utf-8")
    (folders["official"] / f"{SYSTEM}_nel_relaxed.tsv").write_text(HEADER, encoding="utf-8")
    (result,) = conform.run(folders["gold"].parents[1])
    assert result.total - result.reproduced == 1
    assert any("micro-fuzzy-TIME-ALL-LED-ALL ALL F1: official 0.41, ours 0.4" in text for text in result.differences)
    assert f"{SYSTEM}_nel_relaxed.tsv: not replayed, its gold is not there" in result.differences
    assert "team9_bundle4_ajmc_fr_2_nerc_coarse.tsv: not replayed, its gold is not there" in result.differences


def test_normalised_files_are_for_the_relaxed_results(folders: dict[str, Any]) -> None:
    gold = next(folders["gold"].iterdir())
    shutil.copy(gold, folders["gold"] / f"{gold.stem}_histonorm.tsv")
    (folders["systems"] / "histo-time-normalized").mkdir()
    shutil.copy(folders["systems"] / f"{SYSTEM}.tsv", folders["systems"] / "histo-time-normalized" / f"{SYSTEM}.tsv")
    official = folders["official"] / f"{SYSTEM}_nel.json"
    official.rename(folders["official"] / f"{SYSTEM}_nel_relaxed.json")
    (result,) = conform.run(folders["gold"].parents[1])
    assert (result.reproduced, result.differences) == (result.total, [])
    assert result.total == ROWS + sum(FIGURES)


def test_parts_of_the_data_are_not_counted(folders: dict[str, Any]) -> None:
    path = folders["official"] / f"{SYSTEM}_nerc_fine.tsv"
    row = f"{SYSTEM}\tNE-FINE-LIT-micro-fuzzy-TIME-1900-1950-LED-ALL\tALL\t0.1\t0.1\t0.1\t\t\t\t1\t1\t1"
    path.write_text(f"{HEADER}\n{row}\n", encoding="utf-8")
    (result,) = conform.run(folders["gold"].parents[1])
    assert result.total == sum(FIGURES)
    assert (
        "not replayed, NE-FINE-LIT-micro-fuzzy-TIME-1900-1950-LED-ALL is for a part of the data"
        in result.differences[0]
    )


def test_what_is_wrong_is_said_in_one_line(folders: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(GoldassayError, match="the suite hipe2022 needs .*hipe2022/official, which is not there"):
        conform.run(tmp_path / "hipe2022", ["hipe2022"])
    folders["systems"].rename(tmp_path / "away")
    with pytest.raises(GoldassayError, match="systems: no such folder"):
        conform.run(tmp_path)
    (tmp_path / "away").rename(folders["systems"])
    folders["official"].rename(tmp_path / "away")
    folders["official"].mkdir()
    with pytest.raises(GoldassayError, match="has no official results"):
        conform.run(tmp_path)
    folders["official"].rmdir()
    (tmp_path / "away").rename(folders["official"])
    (folders["official"] / f"{SYSTEM}_nerc_fine.tsv").write_text("a\tb\n1\t2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"nerc_fine\.tsv:2: no columns Evaluation and Label"):
        conform.run(tmp_path)
