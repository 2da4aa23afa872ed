"""Kedro datasets that kedro-datasets lacks: atomic, validated, in shards that remember what made them."""
