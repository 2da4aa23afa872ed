"""Words, part-of-speech tags and subword tokens of a text, and how they lie on each other."""
