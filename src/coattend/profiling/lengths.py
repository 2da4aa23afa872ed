"""How long passages, questions, options, answers and turns are, and what an encoder has to cut."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from coattend.parameters import BenchmarkParameters
from coattend.profiling.material import Material, answer_of
from coattend.profiling.rows import Row, distribution
from coattend.profiling.texts import Lengths
from coattend.text.questions import question_domains

LIMIT = 512
"""Tokens of the longest sequence that most encoders take."""


def lengths(
    benchmark: BenchmarkParameters, material: Material, texts: Lengths, *, special_tokens: int
) -> Iterator[Row]:
    """Lengths in words, and sequences in tokens with the share that is longer than `LIMIT`.

    Args:
        benchmark: How options become text.
        material: Its questions and passages.
        texts: Lengths of all texts.
        special_tokens: How many special tokens a sequence has.
    """
    for split, subset, asked in material.groups:
        ids = {row["passage_id"]: None for row in asked}
        read = [material.passages[name] for name in ids]
        sequences = special_tokens + np.array([_sequence(benchmark, row, material, texts) for row in asked])
        measured = {
            "words of a passage": _words(texts, (passage["text"] for passage in read)),
            "words of a question": _words(texts, (row["question"] for row in asked)),
            "words of an option": _words(texts, (option for row in asked for option in row["options"] or ())),
            "words of an answer": _words(texts, filter(None, map(answer_of, asked))),
            "turns of a passage": np.array([len(passage["turns"]) for passage in read if passage["turns"]]),
            "tokens of a sequence": sequences,
        }
        for name, values in measured.items():
            yield from distribution("lengths", split, subset, name, values)
        cut = 100 * float((sequences > LIMIT).mean())
        yield Row("lengths", split, subset, f"sequences over {LIMIT} tokens, %", cut)


def _words(texts: Lengths, asked: Iterable[str]) -> np.ndarray:
    return np.array([texts.words_of(text) for text in asked])


def _sequence(benchmark: BenchmarkParameters, question: dict[str, Any], material: Material, texts: Lengths) -> int:
    """Tokens of the longest sequence that a question makes, without special tokens."""
    domains = question_domains(
        question["task"],
        question["question"],
        question["options"],
        fill_blanks=benchmark.fill_blanks,
        words_as_options=benchmark.words_as_options,
    )
    asked = max(sum(int(texts.tokens[texts.row(text)]) for text in parts) for parts in domains)
    return asked + int(texts.tokens[texts.row(material.passages[question["passage_id"]]["text"])])
