"""Knowledge bases and collections: what programs look things up in."""
