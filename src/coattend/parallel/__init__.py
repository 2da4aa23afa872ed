"""Map a function over shards, in processes of this machine or on a Dask cluster."""
