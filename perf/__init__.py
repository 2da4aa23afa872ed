"""Measurements of speed and memory, each beside a peer or a limit; `make bench` runs them."""
