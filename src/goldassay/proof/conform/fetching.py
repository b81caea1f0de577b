"""The official files from their public homes: each is pinned by its SHA-256, so that what has changed is refused.

``official.yaml`` beside this file says where each lives, under which licence, and its hash. The hashes were taken from
copies; whether an address still answers with that file shows when it is asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from goldassay import files
from goldassay.exceptions import FetchError, NotFoundError
from goldassay.sources.http import Web

FOLDER = Path(".goldassay") / "official"
MANIFEST = Path(__file__).parent / "official.yaml"


@dataclass(frozen=True)
class Source:
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


def sources(manifest: Path = MANIFEST) -> list[Source]:
    """The homes that are known, in the order of the suites."""
    return [
        Source(**{**row, "files": {name: (path, sha) for name, (path, sha) in row["files"].items()}})
        for row in files.yaml_value(manifest)
    ]


def fetch(
    into: Path,
    suites: Sequence[str] | None = None,
    *,
    known: Sequence[Source] | None = None,
    mirror: str | None = None,
    web: Web | None = None,
) -> Iterator[tuple[Source, str]]:
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


def _complete(source: Source, folder: Path, mirror: str | None, web: Web) -> str:
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
