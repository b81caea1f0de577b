"""Damaged files through every reader: whatever stands in one, the answer is records, or one line on what is wrong.

A sound file of each kind is damaged at random places (bytes changed, lost, repeated, cut off; hostile pieces put in)
and read. A reader may give records, and may raise a `GoldassayError` of one line; anything else is a fault of ours.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.proof.readers import Reader, readers

PIECES: tuple[bytes, ...] = (
    b"", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\n", b"\r", b"\r\n", b"\t", b" ", b'"', b"\\", b"{", b"}", b"[", b"]",
    b",", b":", b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b"-1", b"0.5", b"null", b"true", b'"\\ud800"',
    b'{"a":1,"a":2}',
    b"[" * 3000, b"{" * 50, b"- ", b"&a *a", b"!!python/object:os.system", "\u202e".encode(), "漢".encode(),
    b"\xe6\xbc",
    b"#", b"'", b"|", b"B-", b"I-X", b"T1\tX 0 9999\tq", b"R1\tX Arg1:T1 Arg2:T9", b"../../x", b"%s%n", b"\x1b[2J",
    b"{}", b"[]",
    b'{"id": 7}', b'{"qas": 1}', b"\n\n\n", b"<x>", b"=1+1",
)  # fmt: skip


VALUES: tuple[Any, ...] = (
    1,
    -1,
    0.5,
    10**30,
    True,
    None,
    "",
    "x",
    "1",
    [],
    {},
    [1],
    ["x"],
    [None],
    [[]],
    {"x": 1},
    [{}],
)


def _otherwise(content: bytes, draw: random.Random) -> bytes:
    """JSON, or a line of it, in which one value is another: sound as JSON, and not what the reader expects."""
    lines = [content] if draw.random() < 0.5 else content.split(b"\n")
    number = draw.randrange(len(lines))
    try:
        whole = json.loads(lines[number])
    except (ValueError, RecursionError):
        return content
    places: list[tuple[Any, Any]] = []
    todo = [whole]
    while todo:
        one = todo.pop()
        keys = one.keys() if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        places += [(one, key) for key in keys]
        todo += [one[key] for key in keys]
    if not places:
        return content
    inside, key = draw.choice(places)
    inside[key] = draw.choice(VALUES)
    lines[number] = json.dumps(whole, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")
    return b"\n".join(lines)


def damaged(content: bytes, draw: random.Random) -> bytes:
    """The content with one to four damages."""
    found = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        place = draw.randint(0, len(found))
        much = draw.choice((1, 1, 2, 5, 20, 100))
        how = draw.randrange(9)
        if how >= 7:
            found = bytearray(_otherwise(bytes(found), draw))
        elif how == 0:
            found[place : place + much] = draw.choice(PIECES)
        elif how == 1:
            found[place:place] = draw.choice(PIECES)
        elif how == 2:
            del found[place : place + much]
        elif how == 3 and place < len(found):
            found[place] = draw.randrange(256)
        elif how == 4:
            found[place:place] = found[place : place + much] * draw.randint(1, 3)
        elif how == 5:
            del found[place:]
        else:
            lines = bytes(found).split(b"\n")
            draw.shuffle(lines)
            found = bytearray(b"\n".join(lines))
    return bytes(found)


@dataclass
class Outcomes:
    """How often readers gave records, how often one line, and what else they did."""

    read: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[str, str, bytes]] = field(default_factory=list)

    def state(self) -> dict[str, Any]:
        """The counts."""
        return {"read": self.read.total(), "refused": self.refused.total(), "faults": len(self.faults)}


def run(times: int, seed: int = 0, only: str = "") -> Outcomes:
    """Read ``times`` damaged files, the readers in turn."""
    draw, found = random.Random(seed), Outcomes()
    chosen = [one for one in readers() if only in one.label]
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        for number in range(times):
            reader = chosen[number % len(chosen)]
            content = damaged(reader.content, draw)
            place = Path(folder) / str(number % len(chosen))
            why = attempt(reader, content, place)
            if why is None:
                found.read[reader.label] += 1
            elif why == "":
                found.refused[reader.label] += 1
            else:
                found.faults.append((reader.label, why, content))
    return found


def attempt(reader: Reader, content: bytes, place: Path) -> str | None:
    """Read a damaged file: ``None`` where it was read, empty where it was refused in one line, else what happened."""
    if not place.is_dir():
        place.mkdir()
        for name, sound in reader.others:
            (place / name).write_bytes(sound)
    (place / reader.name).write_bytes(content)
    try:
        reader.read(place / reader.name)
    except GoldassayError as error:
        return "" if "\n" not in str(error) else f"more than one line: {error}"
    except Exception as error:  # noqa: BLE001  this is what is looked for
        return f"{type(error).__name__}: {error}"
    return None
