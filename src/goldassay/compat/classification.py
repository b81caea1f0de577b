"""The functions of the founding documents, with their names, arguments and result keys, computed rightly."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.measures.classification.records import institutions, sides
from goldassay.measures.classification.scorecard import matrix, scorecard


def type_classification_metrics(
    y_true: Sequence[str], y_pred: Sequence[str | None], labels: Sequence[str] | None = None
) -> dict[str, Any]:
    """Accuracy, averages, values per class and the confusion matrix over ``labels`` (default: the 19 types).

    What the list does not have (also a missing prediction) is counted under OTHER, the last row and column of the
    matrix, which is there only when it is needed; accuracy is over all examples. ``weighted_f1`` is 0, with a warning,
    where no label of the list has support.

    >>> found = type_classification_metrics(["M", "M", "L"], ["M", "G", "Z"])
    >>> found["accuracy"], found["per_class"]["M"]["f1"], found["labels"][-1]
    (0.3333333333333333, 0.6666666666666666, 'OTHER')
    """
    names = list(labels) if labels is not None else list(institutions())
    card = scorecard(*_records(y_true, y_pred), labels=names)
    per_class = card.by["label"]
    if not any(row["support"] for row in per_class.values()):
        warnings.warn("no label of the list occurs in gold; weighted_f1 is 0", stacklevel=2)
    rows = matrix(card.totals["macro_f1"], names)
    columns = list(rows)
    return {
        "accuracy": card.values["accuracy"] or 0.0,
        **{
            f"macro_{rate}": sum(row[rate] or 0.0 for row in per_class.values()) / (len(per_class) or 1)
            for rate in ("precision", "recall")
        },
        "macro_f1": card.values["macro_f1"] or 0.0,
        "weighted_f1": card.values["weighted_f1"] or 0.0,
        "per_class": per_class,
        "confusion_matrix": [[rows[gold][pred] for pred in columns] for gold in columns],
        "labels": columns,
        "macro_f1_supported": card.values["macro_f1_supported"] or 0.0,
    }


def type_confusion_analysis(y_true: Sequence[str], y_pred: Sequence[str | None], top_k: int = 10) -> dict[str, Any]:
    """The commonest confusions, ties in the order of the labels.

    >>> type_confusion_analysis(["M", "M", "L"], ["G", "G", "L"])["top_confusions"]
    [{'true_type': 'M', 'predicted_type': 'G', 'count': 2}]
    """
    labels = (sides(*pair) for pair in zip(*_records(y_true, y_pred), strict=True))
    pairs = Counter((read.gold, read.pred) for read in labels if read.gold != read.pred)
    ordered = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[: max(0, top_k)]
    return {
        "top_confusions": [{"true_type": g, "predicted_type": p, "count": n} for (g, p), n in ordered],
        "total_errors": sum(pairs.values()),
        "unique_confusion_pairs": len(pairs),
    }


def hierarchical_type_metrics(
    y_true: Sequence[str],
    y_pred: Sequence[str | None],
    hierarchy: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, float]:
    """Exact and category accuracy, and the gap between them.

    ``hierarchy`` maps a group to its labels (default: the institution types'). An unknown prediction is in no group, so
    it never agrees with a gold U.

    >>> hierarchical_type_metrics(["M", "U"], ["G", "?"])
    {'exact_accuracy': 0.0, 'category_accuracy': 0.5, 'hierarchy_gap': 0.5}
    """
    card = scorecard(*_records(y_true, y_pred), hierarchy=hierarchy or "institutions")
    names = {"exact_accuracy": "accuracy", "category_accuracy": "category_accuracy", "hierarchy_gap": "hierarchy_gap"}
    return {name: card.values[key] or 0.0 for name, key in names.items()}


def _records(y_true: Sequence[str], y_pred: Sequence[str | None]) -> tuple[list[Any], list[Any]]:
    """Two lists of labels as records, which the measures read; their lengths must agree."""
    if len(y_true) != len(y_pred):
        raise GoldassayError(f"{len(y_true)} gold labels against {len(y_pred)} predictions; they must be aligned")
    return [{"label": label} for label in y_true], [{"label": label} for label in y_pred]
