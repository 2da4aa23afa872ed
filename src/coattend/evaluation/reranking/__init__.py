"""A cloze reader's best candidates, ranked again by how well they fit into the question's sentence.

Source: Cui et al. 2017, "Attention-over-Attention Neural Networks for Reading Comprehension", on n-best re-ranking.
"""
