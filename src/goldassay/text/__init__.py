"""Texts: words, sentences, normal forms, tags, places of words, which texts are nearly the same."""
