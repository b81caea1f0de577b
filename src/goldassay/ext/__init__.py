"""Extensions: features that register themselves with the library, as anybody's package can."""
