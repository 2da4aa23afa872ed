"""CMRC 2018's official scorer, of spans in Chinese, where spaces set no words apart.

| | SQuAD | CMRC 2018 |
| --- | --- | --- |
| what counts | words, each as often as both answers have it | the longest run of tokens that both answers have |
| a token | a word between spaces | a Chinese character, or a word of what stands between two of them |
| left out | ASCII punctuation and English articles | a list of punctuation, half of it full-width |
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from coattend.errors import CoattendError
from coattend.evaluation.squad import Article
from coattend.text.word_tokenizer import split_sentences

# The script lists an ellipsis of two characters, which none of a text's characters equals: … stays.
_PUNCTUATION = str.maketrans("", "", "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")
# A Chinese character as the script has it: extensions of Unicode's first block are other characters.
_CHARACTER = re.compile("[\u4e00-\u9fa5]")
_CHARACTER_OR_RUN = re.compile("[\u4e00-\u9fa5]|[^\u4e00-\u9fa5]+")
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_ABBREVIATION = re.compile(r"(?<![a-z.])(?:[a-z]|mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|(?:[a-z]\.)+[a-z])\.$")


def normalise(text: str) -> str:
    """Lower case, without the scorer's punctuation and the space around; spaces inside stay."""
    return text.lower().strip().translate(_PUNCTUATION)


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[str, ...]:
    """Split the normalised text into Chinese characters, and NLTK's words of what stands between them.

    The script looks for sentences by NLTK's data; here a full stop ends one unless an abbreviation has it, so that
    scores depend on no file.
    """
    parts: list[str] = []
    for run in _CHARACTER_OR_RUN.findall(normalise(text)):
        if run.isdecimal() or _CHARACTER.match(run):
            parts.append(run)
        else:
            parts += (form for sentence in split_sentences(run, _sentence_spans) for form in sentence.forms)
    return tuple(parts)


def exact_match(prediction: str, gold: str) -> bool:
    """Return True if two answers are equal after normalisation."""
    return normalise(prediction) == normalise(gold)


def f1(prediction: str, gold: str) -> float:
    """Harmonic mean of the shares that the longest common substring of tokens has in either answer; 0 if there is
    none."""
    predicted, true = tokens(prediction), tokens(gold)
    shared = _longest_common(predicted, true)
    if not shared:
        return 0.0
    precision, recall = shared / len(predicted), shared / len(true)
    return 2 * precision * recall / (precision + recall)


def best(prediction: str, golds: Sequence[str]) -> tuple[float, float]:
    """Score one prediction by exact match (0 or 1) and F1, each the best over the gold answers.

    The script knows no question without a gold answer: there, nothing is right, and anything else is wrong.
    """
    if not golds:
        return float(not prediction), float(not prediction)
    return (
        float(any(exact_match(prediction, gold) for gold in golds)),
        max(f1(prediction, gold) for gold in golds),
    )


def score(predictions: Mapping[str, str], dataset: Sequence[Article]) -> dict[str, float]:
    """Score predictions as the official script does: a question without a prediction scores 0, and is counted.

    Args:
        predictions: Question id to answer. Ids that the dataset lacks are ignored.
        dataset: The list under ``data`` of a file in SQuAD's form.

    Returns:
        ``exact`` and ``f1`` in percent, ``average`` of both, by which the leaderboard is ordered, and ``total``, the
        number of questions.

    Raises:
        CoattendError: If there is no question to score.
    """
    questions = [
        question for article in dataset for paragraph in article["paragraphs"] for question in paragraph["qas"]
    ]
    if not questions:
        raise CoattendError("there is no question to score", cure="Give a dataset with questions")
    scores = [
        best(predictions[question["id"]], [answer["text"] for answer in question["answers"]])
        if question["id"] in predictions
        else (0.0, 0.0)
        for question in questions
    ]
    exact, overlap = (100.0 * sum(column) / len(scores) for column in zip(*scores, strict=True))
    return {"exact": exact, "f1": overlap, "average": (exact + overlap) / 2, "total": len(scores)}


def _sentence_spans(line: str) -> Iterable[tuple[int, int]]:
    start = 0
    for space in _SENTENCE_END.finditer(line):
        if not _ABBREVIATION.search(line, start, space.start()):
            yield start, space.start()
            start = space.end()
    yield start, len(line)


def _longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest run of tokens that stands in both sequences."""
    longest, above = 0, [0] * (len(second) + 1)
    for token in first:
        # Length of the common run that ends at this token and at each of the other sequence.
        row = [0] * (len(second) + 1)
        for column, other in enumerate(second, 1):
            if token == other:
                row[column] = above[column - 1] + 1
        longest, above = max(longest, *row), row
    return longest
