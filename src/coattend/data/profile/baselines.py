"""Scores without learning: trivial baselines on every split that is scored.

The sliding window looks for the passage where the question's words are densest (Richardson et al. 2013, algorithm 1,
without their distance score). A word weighs log(1 + 1 / its count in the passage).
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence, Set

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coattend.config import BenchmarkParameters
from coattend.config.benchmark import METRICS
from coattend.data.profile.statistics import BenchmarkRows, Statistic
from coattend.evaluation import span_scorer
from coattend.evaluation.records import TrivialScore
from coattend.schemas import QuestionRow
from coattend.text.cloze import candidate_positions, fill_blank, is_cloze

FREQUENT_WORDS = 150
"""So many of the most frequent words of all passages are in no answer of the sliding window."""
MAX_SPAN_WORDS = 8
# Spaces set no Chinese words apart: each character is one.
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")
_SENTENCE_END = re.compile(r"[.!?]\W*\s|[。！？]")

_METRIC_TITLES = {"exact": "exact match", "f1": "F1"}
"""Metrics of which a baseline has scores that differ."""

Scores = dict[tuple[str, str | None], float]
"""Share of right answers by the baseline's name and the metric; None: by whatever metric its task has."""


def baseline_scores(benchmark: BenchmarkParameters, rows: BenchmarkRows) -> Iterator[Statistic]:
    """Yield scores in percent, beside the published ones. A blank is filled with each option.

    - *chance*: a random option.
    - *always the same option*: the one that is right most often in train.
    - *most frequent candidate*: the one that occurs most often in the passage; a tie counts as wrong, or, in the row
      that says so, as a random choice among the best would on average (Hill et al. 2016: "maximum frequency").
    - *sliding window*: the option whose words are densest with the question's; ties at random. For spans see
      `sliding_window_span`.
    - *answering nothing*: if questions may have no answer.
    """
    for split, subset, scores in _scored_groups(benchmark, rows):
        published = benchmark.published.get(f"{split}/{subset}", {})
        for (name, metric), score in scores.items():
            title = f"{name}, %" if metric is None else f"{name}, {_METRIC_TITLES[metric]}, %"
            yield Statistic("baselines", split, subset, title, 100 * score, published.get(title))


def trivial_scores(
    benchmark: BenchmarkParameters, questions: pa.Table, passages: pa.Table, *, task: str
) -> list[TrivialScore]:
    """Score the trivial baselines on the questions of one task, by the metrics that readers are scored by."""
    of_task = questions.filter(pc.equal(questions["task"].cast(pa.string()), task))
    return [
        {"name": name, "split": split, "group": subset, "metric": metric, "score": 100 * score}
        for split, subset, scores in _scored_groups(benchmark, BenchmarkRows.from_tables(of_task, passages))
        for (name, of_metric), score in scores.items()
        for metric in (METRICS[task] if of_metric is None else [of_metric])
    ]


def _scored_groups(benchmark: BenchmarkParameters, rows: BenchmarkRows) -> Iterator[tuple[str, str, Scores]]:
    """Yield the scores of all baselines on each subset of the splits that are scored."""
    usual = _usual_label(rows)
    counts = Counter(word for text in rows.normalized.values() for word in words_of(text))
    frequent = {word for word, _ in counts.most_common(FREQUENT_WORDS)}
    for split, subset, questions in rows.groups:
        if split == "train":
            continue
        labelled = [question for question in questions if question["label"] is not None]
        scores = _option_scores(labelled, usual)
        scores |= _window_scores([question for question in labelled if question["task"] == "options"], rows)
        scores |= _frequency_scores([question for question in labelled if question["task"] == "word"], rows)
        spans = [question for question in questions if question["task"] == "span"]
        yield split, subset, scores | _span_scores(spans, rows, frequent, benchmark.scorer)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case; of Chinese, the characters."""
    return [word.lower() for word in _WORD.findall(text)]


def option_scores(passage: list[str], queries: list[list[str]]) -> list[float]:
    """Weigh the heaviest window for each option, as long as question and option have different words."""
    return [_heaviest_window(passage, set(words)) for words in queries]


def sliding_window_span(passage: str, question: str, frequent: Set[str]) -> str:
    """Find the run of words around which the words of the question are heaviest.

    The window is cut at the sentence, and reaches as far to either side as the question is long (Rajpurkar et al. 2016
    choose the sentence first, too). A run has no frequent word, none of the question, and only spaces between.

    Returns:
        A span of the passage; empty if all of its words are frequent or in the question.
    """
    words = list(_WORD.finditer(passage))
    question_words = set(words_of(question))
    weights = _cumulative_weights([word.group().lower() for word in words], question_words)
    sentences = _sentence_starts(passage, words)
    heaviest, answer = -1.0, ""
    for first, end in _runs(passage, words, question_words | frequent):
        left = max(first - len(question_words), sentences[first])
        right = min(end + len(question_words), bisect_right(sentences, sentences[first]))
        weight = weights[right] - weights[left]
        if weight > heaviest:
            heaviest, answer = weight, passage[words[first].start() : words[end - 1].end()]
    return answer


def _usual_label(rows: BenchmarkRows) -> int:
    train = (question for question in rows.questions if question["split"] == "train" and question["options"])
    labels = Counter(question["label"] for question in train if question["label"] is not None)
    return max(sorted(labels), key=labels.__getitem__, default=0)


def _option_scores(questions: list[QuestionRow], usual: int) -> Scores:
    if not questions:
        return {}
    return {
        ("chance", None): float(np.mean([1 / len(_options(question)) for question in questions])),
        ("always the same option", None): float(np.mean([question["label"] == usual for question in questions])),
    }


def _window_scores(questions: list[QuestionRow], rows: BenchmarkRows) -> Scores:
    if not questions:
        return {}
    scores = []
    for question in questions:
        text = question["question"]
        queries = [fill_blank(text, option) if is_cloze(text) else f"{text} {option}" for option in _options(question)]
        passage = words_of(rows.normalized[question["passage_id"]])
        scores.append(_expected_accuracy(option_scores(passage, [words_of(query) for query in queries]), question))
    return {("sliding window", None): float(np.mean(scores))}


def _frequency_scores(questions: list[QuestionRow], rows: BenchmarkRows) -> Scores:
    if not questions:
        return {}
    scores = []
    for question in questions:
        positions = candidate_positions(rows.passages[question["passage_id"]]["text"], _options(question))
        scores.append(_expected_accuracy([len(occurrences) for occurrences in positions], question))
    return {
        ("most frequent candidate", None): float(np.mean([score == 1 for score in scores])),
        ("most frequent candidate, ties by lot", None): float(np.mean(scores)),
    }


def _span_scores(questions: list[QuestionRow], rows: BenchmarkRows, frequent: set[str], scorer: str) -> Scores:
    score_span = span_scorer(scorer, version="v1.1").best
    scores = [
        score_span(
            sliding_window_span(rows.passages[question["passage_id"]]["text"], question["question"], frequent),
            [answer["text"] for answer in question["answers"]],
        )
        for question in questions
        if question["answers"]
    ]
    if not scores:
        return {}
    spans: Scores = {
        ("sliding window where there is an answer", metric): float(score)
        for metric, score in zip(METRICS["span"], np.mean(scores, axis=0), strict=True)
    }
    unanswered = 1 - len(scores) / len(questions)
    return spans | ({("answering nothing", None): unanswered} if len(scores) < len(questions) else {})


def _options(question: QuestionRow) -> list[str]:
    return question["options"] or []


def _expected_accuracy(scores: Sequence[float], question: QuestionRow) -> float:
    """Accuracy of the best option on average: 1, 0, or a share if there is a tie."""
    best = [label for label, score in enumerate(scores) if score >= max(scores) - 1e-9]
    return (question["label"] in best) / len(best)


def _heaviest_window(passage: list[str], query: set[str]) -> float:
    weights = _cumulative_weights(passage, query)
    ends = np.minimum(np.arange(len(passage)) + len(query), len(passage))
    return float((weights[ends] - weights[:-1]).max(initial=0.0))


def _cumulative_weights(words: list[str], query: Set[str]) -> np.ndarray:
    """Sum the weights of the query's words before each position [n + 1]."""
    counts = Counter(words)
    weights = [np.log1p(1 / counts[word]) if word in query else 0.0 for word in words]
    return np.concatenate([[0.0], np.cumsum(weights)])


def _sentence_starts(passage: str, words: list[re.Match[str]]) -> list[int]:
    """Index of the first word of each word's sentence, which ends at a stop before a space [words]."""
    starts: list[int] = []
    for index, word in enumerate(words):
        is_first = not index or _SENTENCE_END.search(passage, words[index - 1].end(), word.start())
        starts.append(index if is_first else starts[-1])
    return starts


def _runs(passage: str, words: list[re.Match[str]], excluded: Set[str]) -> Iterator[tuple[int, int]]:
    """Yield first and end of the runs of words that may be an answer, with only spaces between."""
    first = None
    for index, word in enumerate(words):
        allowed = word.group().lower() not in excluded
        separated = index and passage[words[index - 1].end() : word.start()].strip()
        if first is not None and (not allowed or separated or index - first == MAX_SPAN_WORDS):
            yield first, index
            first = None
        if allowed and first is None:
            first = index
    if first is not None:
        yield first, len(words)
