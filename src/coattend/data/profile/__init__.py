"""Dataset statistics and trivial baselines."""
