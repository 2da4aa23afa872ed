"""Raw files of benchmarks as tables of passages, questions and texts."""
