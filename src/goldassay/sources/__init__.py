"""Where texts and tables come from: the web behind a polite client and a cache, collections of passages."""
