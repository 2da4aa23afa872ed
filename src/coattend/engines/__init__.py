"""Ways to spread work over processors and machines."""
