"""What the commands do, one file a command; ``goldassay.cli`` only parses and calls."""
