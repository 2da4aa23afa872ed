"""Layers that several parts of readers share."""
