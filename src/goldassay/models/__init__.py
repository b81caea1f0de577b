"""Language models and embeddings by name, local ones too."""
