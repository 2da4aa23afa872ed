"""SQuAD's two official scorers: their normalisation, and the rules in which they differ.

| case | v1.1 | v2.0 |
| --- | --- | --- |
| a question without a prediction | scores 0, is counted | is left out of the total |
| prediction and gold both normalise to "" | exact 1, F1 0 | exact 1, F1 1 |
| a gold answer that normalises to "" | stays | dropped; none left: gold is "" |
| a question id that occurs twice | is counted twice | the last one counts |
"""

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, TypedDict

from coattend.errors import CoattendError, did_you_mean

Version = Literal["v1.1", "v2.0"]
VERSIONS: tuple[Version, ...] = ("v1.1", "v2.0")


class Answer(TypedDict):
    """An answer in a SQuAD file."""

    text: str


class Question(TypedDict):
    """A question in a SQuAD file."""

    id: str
    answers: list[Answer]


class Paragraph(TypedDict):
    """A paragraph in a SQuAD file, with its questions."""

    qas: list[Question]


class Article(TypedDict):
    """An article in a SQuAD file."""

    paragraphs: list[Paragraph]


_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise(text: str) -> str:
    """Lower case, without ASCII punctuation and English articles, one space between words."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(prediction: str, gold: str) -> bool:
    """Return True if two answers are equal after normalisation."""
    return normalise(prediction) == normalise(gold)


def f1(prediction: str, gold: str, *, version: Version = "v2.0") -> float:
    """Harmonic mean of the precision and recall of the normalised words, each as often as it occurs."""
    predicted, true = normalise(prediction).split(), normalise(gold).split()
    # The official scripts differ here: two empty answers agree in v2.0 and score 0 in v1.1.
    if not predicted or not true:
        return float(version == "v2.0" and predicted == true)
    # The intersection has each word as often as both answers have it.
    shared = sum((Counter(predicted) & Counter(true)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(predicted), shared / len(true)
    return 2 * precision * recall / (precision + recall)


def best(prediction: str, golds: Sequence[str], *, version: Version) -> tuple[float, float]:
    """Score one prediction by exact match (0 or 1) and F1, each the best over the gold answers.

    An empty prediction means "no answer"; so does, in v2.0, that there is no gold.

    Raises:
        CoattendError: If there is no gold answer and the rules are those of v1.1, which has no such questions.
    """
    if version == "v2.0":
        # v2.0 drops golds of nothing but articles and punctuation; none left stands for "no answer".
        golds = [gold for gold in golds if normalise(gold)] or [""]
    if not golds:
        raise CoattendError("a question has no gold answer, but v1.1 has no such questions", cure='Use version="v2.0"')
    exact = max(exact_match(prediction, gold) for gold in golds)
    return float(exact), max(f1(prediction, gold, version=version) for gold in golds)


def score(predictions: dict[str, str], dataset: Sequence[Article], *, version: Version) -> dict[str, float]:
    """Score predictions as the official script of that version does.

    Args:
        predictions: Question id to answer; empty means "no answer". Ids that the dataset lacks are ignored.
        dataset: The list under ``data`` of a SQuAD file.
        version: ``"v1.1"`` or ``"v2.0"``.

    Returns:
        ``exact`` and ``f1`` in percent, and ``total``, the number of questions that they are means over.

    Raises:
        CoattendError: If the version is unknown, or no question is left to score.
    """
    if version not in VERSIONS:
        raise CoattendError(f"no SQuAD scorer is called {version!r}", cure=did_you_mean(str(version), VERSIONS))
    questions: Iterable[tuple[str, list[str]]] = [
        (question["id"], [answer["text"] for answer in question["answers"]])
        for article in dataset
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    if version == "v2.0":
        # The mapping keeps the last of repeated ids, and what was not predicted leaves the total.
        questions = [(key, golds) for key, golds in dict(questions).items() if key in predictions]
    scores = [
        best(predictions[key], golds, version=version) if key in predictions else (0.0, 0.0) for key, golds in questions
    ]
    if not scores:
        raise CoattendError("there is no question to score", cure="Give predictions for the dataset's question ids")
    exact, overlap = (100.0 * sum(column) / len(scores) for column in zip(*scores, strict=True))
    return {"exact": exact, "f1": overlap, "total": len(scores)}
