"""The rows of DUMA's table 1, over all splits that are at hand."""

from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.evaluation.groups import EVERYTHING
from coattend.parameters import BenchmarkParameters
from coattend.profiling.material import Material, answer_of
from coattend.profiling.rows import Row
from coattend.profiling.texts import Lengths

SECTION = "overview"


def overview(benchmark: BenchmarkParameters, material: Material, tags: pads.Dataset, texts: Lengths) -> Iterator[Row]:
    """Documents, questions, kinds and lengths of answers, turns, passage length, vocabulary (DUMA, table 1).

    The paper does not say what it counts. Here: an answer is a right option; lengths are the tagger's words, with
    punctuation and the names of speakers; the vocabulary is that of all texts, in lower case. On DREAM's train and dev
    this comes to the paper's lengths but for half a word.

    Args:
        benchmark: The numbers that the paper prints.
        material: Its questions and passages.
        tags: The stored tags, with their words.
        texts: Lengths of all texts.
    """
    asked, passages = material.questions, material.passages
    known = [(row, answer) for row, answer in ((row, answer_of(row)) for row in asked) if answer is not None]
    turns = np.array([len(row["turns"]) for row in passages.values() if row["turns"]])
    values: dict[str, float] = {"source documents": len(passages), "questions": len(asked)}
    if known:
        extractive = 100 * sum(material.is_extractive(row, answer) for row, answer in known) / len(known)
        values |= {"extractive, %": extractive, "abstractive, %": 100 - extractive}
        values["average answer length"] = float(np.mean([texts.words_of(answer) for _, answer in known]))
    options = [len(row["options"]) for row in asked if row["options"]]
    if options:
        values["answers per question"] = float(np.mean(options))
    if len(turns):
        values |= {"average turns of a dialogue": float(turns.mean()), "most turns of a dialogue": int(turns.max())}
    values["average passage length"] = float(np.mean([texts.words_of(row["text"]) for row in passages.values()]))
    values["vocabulary"] = _vocabulary(tags)
    published = benchmark.published.get(SECTION, {})
    for name, value in values.items():
        yield Row(SECTION, EVERYTHING, EVERYTHING, name, value, published.get(name))


def _vocabulary(tags: pads.Dataset) -> int:
    words: set[str] = set()
    for batch in tags.to_batches(columns=["words"]):
        words.update(pc.unique(pc.utf8_lower(pc.list_flatten(batch.column("words")))).to_pylist())
    return len(words)
