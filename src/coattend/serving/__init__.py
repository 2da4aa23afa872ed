"""Trained readers as MLflow models, their cards, and a small application that shows one."""
