"""Measurements of speed and memory, each beside a peer or a limit: ``python -m perf --help``."""
