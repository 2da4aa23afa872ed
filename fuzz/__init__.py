"""Bad input, made on purpose: what every door of the project does with it. ``python -m fuzz --help``."""
