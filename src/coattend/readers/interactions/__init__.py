"""Interactions: how passage and question see each other."""
