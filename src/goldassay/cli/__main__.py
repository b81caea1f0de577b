"""``python -m goldassay.cli``."""

from goldassay.cli import main

main()
