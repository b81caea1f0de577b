"""Texts: words, sentences, normal forms, tags, where words stand, which texts are nearly the same."""
