"""Encoders: they turn tokens into vectors and split passage from question."""
