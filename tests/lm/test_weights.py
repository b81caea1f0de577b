"""Weights written down again in a quicker form: the same model, to a rounding."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from goldassay.lm.files import as_q8_0, end_tokens, quickened


def q4_1(seed: int, blocks: int) -> bytes:
    rng = np.random.default_rng(seed)
    out = np.empty((blocks, 20), np.uint8)
    out[:, :2] = rng.uniform(0.001, 0.1, (blocks, 1)).astype(np.float16).view(np.uint8)
    out[:, 2:4] = rng.uniform(-1, 0, (blocks, 1)).astype(np.float16).view(np.uint8)
    out[:, 4:] = rng.integers(0, 256, (blocks, 16))
    return out.tobytes()


def weights(blocks: bytes) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """What Q4_1 stands for, by ggml's definition: the low halves of the bytes first, then the high ones."""
    out = []
    for at in range(0, len(blocks), 20):
        d, m = np.frombuffer(blocks[at : at + 4], np.float16).astype(np.float64)
        bits = blocks[at + 4 : at + 20]
        out += [d * (byte & 15) + m for byte in bits] + [d * (byte >> 4) + m for byte in bits]
    return np.array(out, np.float64)


def test_each_weight_stays_to_a_254th_of_the_largest_of_its_block() -> None:
    given = q4_1(3, 50)
    made = np.frombuffer(as_q8_0(given), np.uint8).reshape(-1, 34)
    back = made[:, :2].copy().view(np.float16).astype(np.float64) * made[:, 2:].view(np.int8)
    asked = weights(given).reshape(-1, 32)
    worst = np.abs(back - asked).max(axis=1) / np.abs(asked).max(axis=1)
    assert worst.max() < 1 / 254 + 2**-10  # half a step, and what the half-precision scale rounds


def gguf(kind: int, raw: bytes) -> bytes:
    """A file with one string, one list of strings, a matrix of ``kind`` and a vector of floats."""

    def text(value: bytes) -> bytes:
        return struct.pack("<Q", len(value)) + value

    head = struct.pack("<IIQQ", 0x46554747, 3, 2, 2) + text(b"name") + struct.pack("<I", 8) + text(b"tiny")
    head += text(b"words") + struct.pack("<IIQ", 9, 8, 2) + text(b"a") + text(b"bc")
    floats = np.arange(4, dtype=np.float32).tobytes()
    pad = -len(raw) % 32
    head += text(b"matrix") + struct.pack("<I2QIQ", 2, 32, 2, kind, 0)
    head += text(b"norm") + struct.pack("<IQIQ", 1, 4, 0, len(raw) + pad)
    return head + b"\0" * (-len(head) % 32) + raw + b"\0" * pad + floats + b"\0" * 16


def test_a_file_keeps_all_but_its_slow_matrices(tmp_path: Path) -> None:
    slow, quick = q4_1(1, 2), as_q8_0(q4_1(1, 2))
    source = tmp_path / "tiny.gguf"
    source.write_bytes(gguf(3, slow))
    made = quickened(source, tmp_path / "quick.gguf")
    assert made.read_bytes() == gguf(8, quick)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["quick.gguf", "tiny.gguf"]
    assert quickened(made, tmp_path / "again.gguf").read_bytes() == made.read_bytes()  # nothing is slow any more


def test_the_tokens_that_end_a_turn_are_read_from_the_file(tmp_path: Path) -> None:
    def value(name: bytes, kind: int, raw: bytes) -> bytes:
        return struct.pack("<Q", len(name)) + name + struct.pack("<I", kind) + raw

    words = value(b"tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 1) + struct.pack("<Q", 3) + b"end")
    eos = value(b"tokenizer.ggml.eos_token_id", 4, struct.pack("<I", 5))
    eot = value(b"tokenizer.ggml.eot_token_id", 4, struct.pack("<I", 9))
    file = tmp_path / "tiny.gguf"
    for values, found in (([words, eos, eot], (5, 9)), ([eos, words], (5,)), ([words], ())):
        file.write_bytes(struct.pack("<IIQQ", 0x46554747, 3, 0, len(values)) + b"".join(values))
        assert end_tokens(file) == found
