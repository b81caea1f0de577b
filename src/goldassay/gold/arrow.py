"""Rows of Parquet files and of Hugging Face data sets (extra ``datasets``), as JSON can hold them.

A data set is named ``hf:NAME`` or ``hf:NAME:SPLIT``, or is a folder that ``save_to_disk`` wrote. A class label becomes
its name, a date its ISO form; ``validation`` is dev. Nothing of a data set is executed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from os.path import isfile  # a name that no file can have is none, not an error
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError, MissingExtra

HF = "hf:"
MARKS = ("state.json", "dataset_dict.json")  # what a folder of `save_to_disk` holds
SIDES = {"validation": "dev"}


def is_dataset(place: str | Path) -> bool:
    """Whether this names a data set: ``hf:…``, or a folder of one."""
    return str(place).startswith(HF) or any(isfile(Path(place) / mark) for mark in MARKS)


def columnar(place: str | Path, format: str | None = None) -> bool:
    """Whether this is read here: a data set, or a Parquet file."""
    return is_dataset(place) or (format or Path(place).suffix.lower().lstrip(".")) == "parquet"


def parquet(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file, a batch at a time."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtra("pyarrow", "datasets") from None
    try:
        for batch in ParquetFile(file).iter_batches():
            yield from batch.to_pylist()
    except (ArrowException, OSError) as error:
        raise DataError(f"no Parquet that can be read ({_first(error)})", file=file) from None


def dataset(name: str) -> Iterator[dict[str, Any]]:
    """The rows of a data set; those of one with several splits say theirs."""
    try:
        import datasets
    except ImportError:
        raise MissingExtra("datasets", "datasets") from None
    try:
        if name.startswith(HF):
            whole, _, split = name.removeprefix(HF).partition(":")
            found = datasets.load_dataset(whole, split=split or None)
        else:
            found = datasets.load_from_disk(name)
    except Exception as error:  # noqa: BLE001 - the library raises what its many back ends raise
        raise DataError(f"no data set that can be read ({_first(error)})", file=name) from None
    for side, part in found.items() if isinstance(found, dict) else [(None, found)]:
        names = {column: kind for column, kind in part.features.items() if isinstance(kind, datasets.ClassLabel)}
        for raw in part:
            row = dict(raw)
            for column, kind in names.items():
                if isinstance(row[column], int) and row[column] >= 0:
                    row[column] = kind.int2str(row[column])
            yield {**row, "split": SIDES.get(str(side), str(side))} if side and "split" not in row else row


def plain(row: Mapping[str, object], place: str | Path) -> dict[str, Any]:
    """A row with values that JSON can hold; raises `DataError` where a field is an image, bytes or the like."""
    return {str(name): _plain(value, str(name), place) for name, value in row.items()}


def _plain(value: Any, name: str, place: str | Path) -> Any:
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(one, name, place) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one, name, place) for one in value]
    said = f"{name} holds {type(value).__name__}, which no record can hold; name the fields you want with --map"
    raise DataError(said, file=place)


def _first(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
