"""Benchmarks: readers of native file formats, where raw files lie, and the generated sample.

Each format is a module with a function ``read(path, *, max_characters)`` that yields records; nothing else has to be
told about it.
"""
