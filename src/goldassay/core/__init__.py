"""The algebra, and what DSPy gets: tallies, measures, metrics, scores, feedback. No statistics."""
