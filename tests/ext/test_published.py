"""The extension of the how-to: built as a wheel, installed in an environment of its own, and used there."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly

FENCE = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def python(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment over the main one that has the extension."""
    folder = tmp_path_factory.mktemp("published")
    for name, text in FENCE.findall((root / "docs" / "how-to" / "extensions.md").read_text(encoding="utf-8")):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    built = subprocess.run([*pip, "wheel", "--no-deps", "-w", str(folder), str(folder / "letters")], check=False)
    if built.returncode:
        pytest.skip("the build backend of the wheel could not be fetched")
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    site = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    (site / "main.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    (wheel,) = folder.glob("goldassay_letters-*.whl")
    subprocess.run([*pip, "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)], check=True)
    (folder / "gold.letters").write_text("MUSEUM | Rijksmuseum\nARCHIVE | Stadsarchief\n", encoding="utf-8")
    (folder / "pred.letters").write_text("MONUMENT | Rijksmuseum\nLIBRARY | Stadsarchief\n", encoding="utf-8")
    return python


def output(python: Path, *words: str) -> str:
    folder = python.parents[2]
    done = subprocess.run([python, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_format_and_its_measure_are_known(python: Path) -> None:
    code = (
        "import goldassay; card = goldassay.score('classification', 'gold.letters', 'pred.letters', "
        "measures=['first_letter', 'accuracy']); print(card['first_letter'], card['accuracy'])"
    )
    assert output(python, "-c", code).split() == ["0.5", "0.0"]


def test_its_command_is_one_of_goldassay(python: Path) -> None:
    assert output(python, "-m", "goldassay", "letters", "gold.letters").split() == ["2"]
    assert "Count the records of a file of letters." in output(python, "-m", "goldassay", "--help")
