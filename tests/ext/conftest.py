"""The fixtures of the core's tests that those of extensions use, too."""

from __future__ import annotations

from tests.cli.conftest import takes_json
from tests.gold.conftest import own
from tests.reporting.conftest import opened, two
from tests.tuning.conftest import lm, reflector, scripted

__all__ = ["lm", "opened", "own", "reflector", "scripted", "takes_json", "two"]
