"""How long passages, questions, options, answers and turns are, and what an encoder has to cut."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from coattend.parameters import BenchmarkParameters
from coattend.profiling.groups import groups
from coattend.profiling.rows import Row, distribution
from coattend.profiling.texts import Lengths
from coattend.text.questions import question_domains

SPECIAL_TOKENS = 3
"""[CLS] and two [SEP]."""
LIMIT = 512
"""Tokens of the longest sequence that most encoders take."""


def lengths(
    benchmark: BenchmarkParameters, questions: pa.Table, passages: dict[str, dict[str, Any]], texts: Lengths
) -> Iterator[Row]:
    """Lengths in words, and sequences in tokens with the share that is longer than `LIMIT`.

    Args:
        benchmark: How options become text.
        questions: Its questions.
        passages: Passage id to its row.
        texts: Lengths of all texts.
    """
    asked = questions.to_pylist()
    for split, subset, rows in groups(questions):
        own = [asked[row] for row in rows]
        read = {row["passage_id"]: passages[row["passage_id"]] for row in own}
        words = texts.words[[texts.row(passage["text"]) for passage in read.values()]]
        yield from distribution("lengths", split, subset, "words of a passage", words)
        yield from distribution(
            "lengths", split, subset, "words of a question", _words(texts, (r["question"] for r in own))
        )
        options = [option for row in own for option in row["options"] or ()]
        yield from distribution("lengths", split, subset, "words of an option", _words(texts, options))
        yield from distribution(
            "lengths", split, subset, "words of an answer", _words(texts, filter(None, map(answer_of, own)))
        )
        turns = np.array([len(passage["turns"]) for passage in read.values() if passage["turns"]])
        yield from distribution("lengths", split, subset, "turns of a passage", turns)
        sequences = np.array([_sequence(benchmark, row, passages, texts) for row in own])
        yield from distribution("lengths", split, subset, "tokens of a sequence", sequences)
        yield Row(
            "lengths", split, subset, f"sequences over {LIMIT} tokens, %", 100 * float((sequences > LIMIT).mean())
        )


def answer_of(question: dict[str, Any]) -> str | None:
    """The right option, or the first gold answer; None where there is none."""
    if question["options"] is not None:
        return None if question["label"] is None else question["options"][question["label"]]
    return question["answers"][0]["text"] if question["answers"] else None


def _words(texts: Lengths, asked: Iterable[str]) -> np.ndarray:
    return np.array([texts.words_of(text) for text in asked])


def _sequence(
    benchmark: BenchmarkParameters, question: dict[str, Any], passages: dict[str, dict[str, Any]], texts: Lengths
) -> int:
    """Tokens of the longest sequence that a question makes."""
    domains = question_domains(
        question["task"],
        question["question"],
        question["options"],
        fill_blanks=benchmark.fill_blanks,
        words_as_options=benchmark.words_as_options,
    )
    asked = max(sum(int(texts.tokens[texts.row(text)]) for text in parts) for parts in domains)
    return SPECIAL_TOKENS + asked + int(texts.tokens[texts.row(passages[question["passage_id"]]["text"])])
