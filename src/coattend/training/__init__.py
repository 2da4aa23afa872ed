"""From tables to trained trials: examples, batches, the trainer, and what a trial leaves behind."""
