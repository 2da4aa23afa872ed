"""Heads: they turn attended tokens into an answer, and an answer into a loss."""
