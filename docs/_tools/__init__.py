"""Tools that write the generated parts of the documentation, and take its pictures."""
