"""Results: measures over a set, their values, intervals and breakdowns, and comparisons of two of them."""
