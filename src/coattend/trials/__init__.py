"""Experiments and trials: what is trained, its identity, its folder, and how it is read again."""
