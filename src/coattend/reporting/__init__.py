"""Tables, figures and the page that compare the readers of a benchmark."""
