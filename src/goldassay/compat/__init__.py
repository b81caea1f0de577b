"""What the founding documents name, on top of the rest: the same names, arguments and results, computed rightly."""
