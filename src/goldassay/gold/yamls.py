"""YAML, read safely: no objects, no aliases (a bomb is made of them), no file beyond a bound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from goldassay.exceptions import DataError
from goldassay.gold import files

LARGEST = 20_000_000


class _Plain(yaml.SafeLoader):
    """A safe loader that takes no aliases."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event: Any = self.get_event()  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(
                None, None, f"alias *{event.anchor}: aliases are not read here; write the value out", event.start_mark
            )
        return super().compose_node(parent, index)


def load(path: str | Path) -> Any:
    """The content of a YAML file.

    Repeated keys are an error of the file that YAML itself lets pass; the last one counts.
    """
    file = Path(path)
    if file.is_file() and file.stat().st_size > LARGEST:
        raise DataError(f"{file.stat().st_size:,} bytes; a YAML file here has at most {LARGEST:,}", file=path)
    content = files.text(path)
    try:
        return yaml.load(content, Loader=_Plain)  # noqa: S506 (it is a SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise DataError(f"not YAML: {error.problem}", file=path, line=line) from None
    except yaml.YAMLError as error:
        raise DataError(f"not YAML: {str(error).splitlines()[0]}", file=path) from None
    except RecursionError:
        raise DataError("not YAML that can be read: it is nested too deeply", file=path) from None
