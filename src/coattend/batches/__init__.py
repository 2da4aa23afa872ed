"""From tables to batches: tokens, examples, collator, sampler and caches."""
