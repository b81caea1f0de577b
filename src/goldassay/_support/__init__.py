"""Below everything: files, JSON Lines, caches, the local server, progress, secrets, errors, versions of DSPy."""
