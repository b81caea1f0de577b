"""Judges: signatures, a bound judge, measures, panels, agreement with people, audit."""
