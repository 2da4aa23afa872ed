"""Where answers are: how often each option is the right one, and how many answers stand in the passage."""

from collections import Counter
from collections.abc import Iterator

from coattend.profiling.material import Material, answer_of
from coattend.profiling.rows import Row


def answers(material: Material) -> Iterator[Row]:
    """Balance of the labels, types of questions, and the share of extractive answers, which stand in the passage."""
    for split, subset, asked in material.groups:
        labels = Counter(row["label"] for row in asked if row["label"] is not None)
        for label, count in sorted(labels.items()):
            yield Row("answers", split, subset, f"option {label + 1} is right, %", 100 * count / labels.total())
        types = Counter(name for row in asked for name in row["question_types"] or ())
        for name, count in sorted(types.items()):
            yield Row("answers", split, subset, f"{name}, % of questions", 100 * count / len(asked))
        found = [(row, answer_of(row)) for row in asked]
        extractive = [material.is_extractive(row, answer) for row, answer in found if answer is not None]
        if extractive:
            yield Row("answers", split, subset, "extractive, %", 100 * sum(extractive) / len(extractive))
