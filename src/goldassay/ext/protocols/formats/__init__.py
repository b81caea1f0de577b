"""The formats of the files that official scorers read."""
