"""What occurs more than once: passages within a split and across splits, questions, and options of one question."""

from collections.abc import Iterator
from itertools import combinations

from coattend.evaluation.groups import EVERYTHING, TRAINING_SPLIT
from coattend.profiling.material import Material
from coattend.profiling.rows import Row
from coattend.text.identity import bare


def copies(material: Material) -> Iterator[Row]:
    """Copies word for word, whatever the case and the punctuation."""
    texts: dict[str, set[str]] = {}
    pairs: dict[str, set[tuple[str, str]]] = {}
    for split, subset, asked in material.groups:
        ids = {row["passage_id"] for row in asked}
        distinct = {material.plain[name] for name in ids}
        keys = [(material.plain[row["passage_id"]], bare(row["question"])) for row in asked]
        equal = sum(len(set(row["options"])) < len(row["options"]) for row in asked if row["options"])
        yield Row("copies", split, subset, "passages that repeat another", len(ids) - len(distinct))
        yield Row("copies", split, subset, "questions that repeat another", len(keys) - len(set(keys)))
        yield Row("copies", split, subset, "questions with equal options", equal)
        if subset == EVERYTHING:
            texts[split], pairs[split] = distinct, set(keys)
    first = sorted(texts, key=lambda split: (split != TRAINING_SPLIT, split))
    for other, split in combinations(first, 2):
        for what, held in (("passages", texts), ("questions", pairs)):
            yield Row("copies", split, EVERYTHING, f"{what} that are in {other} too", len(held[split] & held[other]))
