"""The pipelines: thin nodes over tables and parameters."""
