"""``python -m goldassay``."""

from goldassay.cli import main

main()
