"""Answers to questions about any texts: one road from raw text to a trained reader's answer and its evidence.

The prediction pipeline, the MLflow model and the demonstration all go it, so that they give the same answers.
"""
