"""The synthetic sample: a simulated world, written in the formats of published benchmarks."""
