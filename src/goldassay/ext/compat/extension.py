"""What the extension ``compat`` adds to goldassay."""

from __future__ import annotations

from goldassay._support.extensions import Extension

extension = Extension("compat")
