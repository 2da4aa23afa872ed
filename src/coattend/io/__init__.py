"""Kedro datasets that kedro-datasets lacks: atomic, checksummed, in shards that remember what made them."""
