"""Official results: where their files live, and what a replay of them gives.

``official.yaml`` beside this file says where each lives, under which licence, and its SHA-256, so that what has changed
is refused; a file without a hash is taken as it is. The hashes were taken from copies; whether an address still answers
with that file shows when it is asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from goldassay._support import files

SHOWN = 10


@dataclass
class SuiteResult:
    """One suite: ``reproduced`` of ``total`` official numbers; ``differences`` are the first ones, in words.

    >>> result = SuiteResult("demo")
    >>> result.add("P@5 of query 1", official="0.4000", ours="0.4000")
    >>> result.add("RR of query 1", official="0.5000", ours="1.0000")
    >>> result.reproduced, result.total, result.differences
    (1, 2, ['RR of query 1: official 0.5000, ours 1.0000'])
    """

    name: str
    reproduced: int = 0
    total: int = 0
    differences: list[str] = field(default_factory=list)
    missing: str = ""
    """Why nothing was compared, and what to do about it."""

    def add(self, what: str, official: object, ours: object) -> None:
        """Count one official number."""
        self.total += 1
        if official == ours:
            self.reproduced += 1
        elif len(self.differences) < SHOWN:
            self.differences.append(f"{what}: official {official}, ours {ours}")

    def near(self, what: str, official: float, ours: float | None, within: float = 1e-9) -> None:
        """Count one official number that is given in full."""
        same = ours is not None and abs(official - ours) <= within
        self.add(what, official, official if same else ours)

    def maybe(self, what: str, official: float | None, ours: float | None, within: float = 1e-9) -> None:
        """Count one official number that may be undefined."""
        if official is None or ours is None:
            self.add(what, official, ours)
        else:
            self.near(what, official, ours, within)

    def note(self, text: str) -> None:
        """Say what was not replayed; it is not counted."""
        if len(self.differences) < SHOWN:
            self.differences.append(text)


FOLDER = Path(".goldassay") / "official"
MANIFEST = Path(__file__).parent / "official.yaml"


@dataclass(frozen=True)
class OfficialHome:
    """A home of official files: ``files`` is the path there and the SHA-256, by the name here."""

    suite: str
    folder: str
    home: str
    address: str
    licence: str
    files: Mapping[str, tuple[str, str]]

    def url(self, name: str) -> str:
        """The address of a file."""
        return self.address + self.files[name][0]


def sources(manifest: Path = MANIFEST) -> list[OfficialHome]:
    """The homes that are known, in the order of the suites."""
    return [
        OfficialHome(**{**row, "files": {name: (path, sha) for name, (path, sha) in row["files"].items()}})
        for row in files.yaml_value(manifest)
    ]


def fetch(into: Path, homes: Sequence[OfficialHome] | None = None) -> list[str]:
    """Download the official files that are missing or changed; returns the errors, one line each."""
    errors = []
    for home in sources() if homes is None else homes:
        for name, (_, sha) in home.files.items():
            file = into / home.folder / name
            if file.is_file() and (not sha or hashlib.sha256(file.read_bytes()).hexdigest() == sha):
                continue
            try:
                content = httpx.get(home.url(name), follow_redirects=True).raise_for_status().content
            except httpx.HTTPError as error:
                errors.append(f"{home.suite}: {home.url(name)}: {error}".splitlines()[0])
                break
            digest = hashlib.sha256(content).hexdigest()
            if sha and digest != sha:
                errors.append(f"{home.suite}: {name} is not the pinned file (SHA-256 {digest[:12]}…, not {sha[:12]}…)")
                break
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    return errors
