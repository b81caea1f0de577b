"""The proof of the measures: official numbers replayed, right predictions damaged."""
