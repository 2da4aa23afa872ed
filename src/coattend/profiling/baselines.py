"""What can be had without learning: scores of trivial baselines on every split that is scored."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from coattend.evaluation import squad
from coattend.parameters import BenchmarkParameters
from coattend.profiling import sliding_window
from coattend.profiling.material import Material
from coattend.profiling.rows import Row
from coattend.text.occurrences import occurrences
from coattend.text.questions import fill, is_cloze

FREQUENT = 150
"""So many of the most frequent words of all passages are in no answer of the sliding window."""

Asked = list[dict[str, Any]]
Scores = dict[str, float]


def baselines(benchmark: BenchmarkParameters, material: Material) -> Iterator[Row]:
    """Scores in percent, beside the published ones. A blank is filled with each option.

    - *chance*: one of the options by lot.
    - *always the same option*: the one that is right most often in train.
    - *most frequent candidate*: the one that stands most often in the passage; a tie counts as wrong, or, in the row
      that says so, as it would on average if it were settled by lot (Hill et al. 2016: "maximum frequency").
    - *sliding window*: see `coattend.profiling.sliding_window`; ties by lot.
    - *answering nothing*: where questions may have no answer.
    """
    usual = _usual_label(material)
    everything = Counter(word for text in material.plain.values() for word in text.split())
    frequent = {word for word, _ in everything.most_common(FREQUENT)}
    for split, subset, asked in material.groups:
        if split == "train":
            continue
        scores = _chosen([row for row in asked if row["label"] is not None], usual)
        scores |= _by_window([r for r in asked if r["task"] == "options" and r["label"] is not None], material)
        scores |= _by_frequency([r for r in asked if r["task"] == "word" and r["label"] is not None], material)
        scores |= _spans([row for row in asked if row["task"] == "span"], material, frequent)
        published = benchmark.published.get(f"{split}/{subset}", {})
        for name, value in scores.items():
            yield Row("baselines", split, subset, f"{name}, %", 100 * value, published.get(f"{name}, %"))


def _usual_label(material: Material) -> int:
    labels = Counter(row["label"] for row in material.questions if row["split"] == "train" and row["options"])
    return max(sorted(labels), key=labels.__getitem__, default=0)


def _chosen(asked: Asked, usual: int) -> Scores:
    if not asked:
        return {}
    return {
        "chance": float(np.mean([1 / len(row["options"]) for row in asked])),
        "always the same option": float(np.mean([row["label"] == usual for row in asked])),
    }


def _by_window(asked: Asked, material: Material) -> Scores:
    return {"sliding window": float(np.mean([_window(row, material) for row in asked]))} if asked else {}


def _window(row: dict[str, Any], material: Material) -> float:
    texts = [
        fill(row["question"], option) if is_cloze(row["question"]) else f"{row['question']} {option}"
        for option in row["options"]
    ]
    passage = material.plain[row["passage_id"]].split()
    scores = sliding_window.option_scores(passage, [sliding_window.words_of(text) for text in texts])
    return _by_lot(scores, row["label"])


def _by_frequency(asked: Asked, material: Material) -> Scores:
    if not asked:
        return {}
    scores = [_frequency(row, material) for row in asked]
    return {
        "most frequent candidate": float(np.mean([score == 1 for score in scores])),
        "most frequent candidate, ties by lot": float(np.mean(scores)),
    }


def _frequency(row: dict[str, Any], material: Material) -> float:
    places = occurrences(material.passages[row["passage_id"]]["text"], row["options"])
    return _by_lot([len(each) for each in places], row["label"])


def _by_lot(scores: list[float], label: int) -> float:
    """What choosing the best of some scores is worth on average: 1, 0, or a share where there is a tie."""
    best = [number for number, score in enumerate(scores) if score >= max(scores) - 1e-9]
    return (label in best) / len(best)


def _spans(asked: Asked, material: Material, frequent: set[str]) -> Scores:
    answered = [row for row in asked if row["answers"]]
    if not answered:
        return {}
    scores = [
        squad.best(
            sliding_window.span(material.passages[row["passage_id"]]["text"], row["question"], frequent),
            [answer["text"] for answer in row["answers"]],
            version="v1.1",
        )
        for row in answered
    ]
    exact, f1 = np.mean(scores, axis=0)
    found = {
        "sliding window where there is an answer, exact match": float(exact),
        "sliding window where there is an answer, F1": float(f1),
    }
    nothing = {"answering nothing": 1 - len(answered) / len(asked)} if len(answered) < len(asked) else {}
    return found | nothing
