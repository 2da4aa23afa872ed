"""coattend: discriminative machine reading comprehension on Kedro."""

__version__ = "0.1.0"
