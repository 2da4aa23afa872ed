"""Train trials: the trainer, its callbacks and diagnostics, several processes, tuning, and the variants of studies."""
