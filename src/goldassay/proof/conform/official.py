"""Official results: where their files live, and what a replay of them gives.

``official.yaml`` beside this file says where each lives, under which licence, and its SHA-256, so that what has changed
is refused. The hashes were taken from copies; whether an address still answers with that file shows when it is asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from goldassay import files
from goldassay.exceptions import FetchError, NotFoundError
from goldassay.wikidata.web import Web

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

    def state(self) -> dict[str, object]:
        """As JSON."""
        return {
            "name": self.name,
            "reproduced": self.reproduced,
            "total": self.total,
            "differences": self.differences,
            "missing": self.missing,
        }


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

    def url(self, name: str, mirror: str | None = None) -> str:
        """Where a file is asked for: at its home, or under the same path at a mirror."""
        url = self.address + self.files[name][0]
        return url if mirror is None else mirror.rstrip("/") + urlsplit(url).path


def sources(manifest: Path = MANIFEST) -> list[OfficialHome]:
    """The homes that are known, in the order of the suites."""
    return [
        OfficialHome(**{**row, "files": {name: (path, sha) for name, (path, sha) in row["files"].items()}})
        for row in files.yaml_value(manifest)
    ]


def fetch(
    into: Path,
    suites: Sequence[str] | None = None,
    *,
    known: Sequence[OfficialHome] | None = None,
    mirror: str | None = None,
    web: Web | None = None,
) -> Iterator[tuple[OfficialHome, str]]:
    """Get what is not there yet, home after home: each with what went wrong, which is nothing where all came.

    Args:
        into: the folder; each home has its own in it, as ``--data`` wants it.
        suites: only these.
        known: the homes; by default those of ``official.yaml``.
        mirror: a server that holds the same paths.
        web: who asks.
    """
    web = web or Web()
    for source in sources() if known is None else known:
        if suites is None or source.suite in suites:
            yield source, _complete(source, into / source.folder, mirror, web)


def _complete(source: OfficialHome, folder: Path, mirror: str | None, web: Web) -> str:
    for name, (_, sha) in source.files.items():
        file = folder / name
        if file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == sha:
            continue
        try:
            content = web.content(source.url(name, mirror))
        except (FetchError, NotFoundError) as error:
            return str(error)
        found = hashlib.sha256(content).hexdigest()
        if found != sha:
            return f"{name} of {source.home} is not the file that was pinned (SHA-256 {found[:12]}…, not {sha[:12]}…)"
        folder.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f"{name}.part")
        part.write_bytes(content)
        part.replace(file)
    return ""
