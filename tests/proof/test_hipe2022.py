"""The campaign's folders: official tables and trees replayed, and what is not there is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from goldassay.exceptions import DataError, GoldassayError
from goldassay.proof import conform

SYSTEM = "team1_bundle3_hipe2020_de_1"
HEADER = "System\tEvaluation\tLabel\tP\tR\tF1\tF1_std\tP_std\tR_std\tTP\tFP\tFN"


@pytest.fixture
def folders(shared_data: Path, tmp_path: Path) -> dict[str, Any]:
    """The scorer's unit bundle, laid out as the campaign does."""
    unit = shared_data / "hipe-scorer"
    places = {name: tmp_path / "hipe2022" / name for name in ("gold", "systems", "official")}
    for folder in places.values():
        folder.mkdir(parents=True)
    shutil.copy(unit / "unittest-true_bundle3_de_2020.tsv", places["gold"] / "HIPE-2022-v2.1-hipe2020-test-de.tsv")
    shutil.copy(unit / "unittest-pred_bundle3_de_2020.tsv", places["systems"] / f"{SYSTEM}.tsv")
    nerc = json.loads((unit / "unittest-pred_bundle3_de_2020.ref_results_nerc_fine.json").read_text(encoding="utf-8"))
    nel = json.loads((unit / "unittest-pred_bundle3_de_2020.ref_results_nel.json").read_text(encoding="utf-8"))
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
    (result,) = conform.run(folders["gold"].parents[1], ["hipe2022"])
    # table: 4 (micro, macro × fuzzy, strict) · 6 labels · 6 cells; trees: 472 and 700 figures
    assert (result.reproduced, result.total, result.differences) == (144 + 472 + 700, 144 + 472 + 700, [])


def test_a_wrong_number_and_a_missing_file_are_said(folders: dict[str, Any]) -> None:
    path = folders["official"] / f"{SYSTEM}_nerc_fine.tsv"
    path.write_text(path.read_text(encoding="utf-8").replace("0.842", "0.843"), encoding="utf-8")
    (folders["official"] / "team9_bundle4_ajmc_fr_2_nerc_coarse.tsv").write_text(HEADER, encoding="utf-8")
    (folders["official"] / f"{SYSTEM}_nel_relaxed.tsv").write_text(HEADER, encoding="utf-8")
    (result,) = conform.run(folders["gold"].parents[1])
    assert result.total - result.reproduced == 1
    assert any("micro-fuzzy-TIME-ALL-LED-ALL ALL F1: official 0.843, ours 0.842" in text for text in result.differences)
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
    assert result.total == 144 + 472 + 700


def test_parts_of_the_data_are_not_counted(folders: dict[str, Any]) -> None:
    path = folders["official"] / f"{SYSTEM}_nerc_fine.tsv"
    row = f"{SYSTEM}\tNE-FINE-LIT-micro-fuzzy-TIME-1900-1950-LED-ALL\tALL\t0.1\t0.1\t0.1\t\t\t\t1\t1\t1"
    path.write_text(f"{HEADER}\n{row}\n", encoding="utf-8")
    (result,) = conform.run(folders["gold"].parents[1])
    assert result.total == 472 + 700
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
