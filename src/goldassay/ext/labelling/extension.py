"""The entry point of the extension ``labelling``."""

from __future__ import annotations

from goldassay._support.extensions import Extension

extension = Extension(
    "labelling",
    commands={
        "review": "goldassay.ext.labelling.commands:review",
        "gold draft": "goldassay.ext.labelling.commands:draft",
        "gold modes": "goldassay.ext.labelling.commands:modes",
    },
    formats={"review": "goldassay.ext.labelling.reviewed:REVIEW_FORMAT"},
    views={"review": "goldassay.ext.labelling.review_report:folder_view"},
)
