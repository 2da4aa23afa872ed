"""A campaign on one GPU: a plan of short commands, the pack that they need, and the pages that their results fill."""
