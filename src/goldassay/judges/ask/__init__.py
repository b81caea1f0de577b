"""Asking a language model: questions, a bound judge, panels, verdicts kept in a file."""
