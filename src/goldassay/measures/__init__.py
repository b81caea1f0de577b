"""The seven tasks' measures: one module a task, read in the same order."""
