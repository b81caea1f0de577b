"""What a GGUF file says of itself, and the same weights in a form that llama.cpp multiplies faster.

llama.cpp has quick matrix products for some forms of weights and slow ones for others. The embedded model's matrices
are Q4_1 (32 weights as 4 bits each, a scale and a least value), a slow one: SmolLM2-135M reads a prompt 1.5 to 1.7
times as fast with the same weights as Q8_0 (8 bits each and a scale), on one thread of an AVX2 processor. Nothing is
trained or chosen here: each weight w = d q + m is written down again with an error of at most 1/254 of the largest of
its 32, so that answers stay those of the model but for near ties.

The formats: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md and ``block_q4_1``, ``block_q8_0`` in ggml.
"""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
