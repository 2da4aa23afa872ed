"""Pages, tables and figures of what was trained and measured."""
