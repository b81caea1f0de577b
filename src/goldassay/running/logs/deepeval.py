"""."""

from pathlib import Path
from typing import Any

from goldassay.running.logs.system import System


def systems(content: Any, file: Path) -> list[System] | None:
    """."""
    return None
