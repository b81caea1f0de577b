"""The entry point of the extension ``compat``."""

from __future__ import annotations

from goldassay._support.extensions import Extension

extension = Extension("compat")
