"""The report of a study: its table, figures and analyses beside the paper's numbers."""
