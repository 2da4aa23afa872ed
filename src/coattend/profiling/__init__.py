"""What a benchmark is made of: counts beside the published ones, lengths, tags, copies, labels."""
