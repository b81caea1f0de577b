"""Programs that read Wikipedia articles, measured against what Wikidata says of the same articles."""
