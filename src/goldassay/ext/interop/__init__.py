"""Logs and traces of other tools, and what goldassay writes for them."""
