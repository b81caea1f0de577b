"""Context entity recall over rows of any shape: where the texts stand is said by name, dotted path or function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from goldassay.exceptions import DataError, FieldError
from goldassay.fields import Column, read
from goldassay.measures.answering.entities import Aliases, distinct, found_entities, lacking
from goldassay.measures.answering.records import contexts, reference


def context_entity_recall(
    rows: Sequence[Any],
    *,
    retrieved_contexts_column: Column = "retrieved_contexts",
    reference_column: Column = "reference",
    extract: Callable[[str], Iterable[Any]] = found_entities,
    match: str = "normalised",
    aliases: Aliases = (),
) -> dict[str, Any]:
    """Context entity recall over rows; each column is a name, a dotted path, or a function of the row.

    >>> row = {"model": {"contexts": ["Rotterdam"]}, "truth": "Kunsthal Rotterdam, 1992"}
    >>> context_entity_recall([row], retrieved_contexts_column="model.contexts", reference_column="truth")
    {'context_entity_recall': 0.0, 'rows': [0.0]}
    >>> context_entity_recall([row], retrieved_contexts_column=lambda r: ["opened 1992"], reference_column="truth")
    {'context_entity_recall': 0.5, 'rows': [0.5]}
    """
    columns = {"retrieved_contexts": retrieved_contexts_column, "reference": reference_column}
    values: list[float | None] = []
    for place, row in enumerate(rows):
        seen = {name: _cell(row, column, name, place) for name, column in columns.items()}
        try:
            texts, text = contexts(seen) or (), reference(seen)
        except DataError as error:
            raise error.at(record=place) from None
        wanted = distinct(extract(text), match, aliases)
        missing = lacking(wanted.values(), texts, None, match, aliases)
        values.append((len(wanted) - len(missing)) / len(wanted) if wanted else None)
    counted = [value for value in values if value is not None]
    return {"context_entity_recall": sum(counted) / len(counted) if counted else None, "rows": values}


def _cell(row: Any, column: Column, name: str, place: int) -> Any:
    """What stands in a column of a row; one that is not there is an error that names it, and no recall of 0."""
    try:
        return column(row) if callable(column) else read(row, column)
    except FieldError as error:
        raise DataError(f"{error}; say where it is with {name}_column", record=place, field=name) from None
    except (KeyError, IndexError, AttributeError, TypeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise DataError(f"the function for {name}_column raised {what}", record=place, field=name) from None
