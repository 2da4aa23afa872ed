"""Records of a machine's trainings that are small enough for version control: configuration, GPU, code, scores, and the
marks of every answer, without a text of a benchmark."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coattend.reports.study.trial_records import pack
from coattend.text.hashing import digest_of_ids

OUTCOME = (
    "trial_id", "training", "options", "encoder", "questions", "seconds", "peak_memory_mib", "best_step", "held_out",
)  # fmt: skip
"""What is kept of a trial's outcome."""


def training_records(
    entry: Mapping[str, Any], outcomes: Sequence[Mapping[str, Any]], answers: pa.Table
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the record of each finished training by its key.

    Args:
        entry: The figures of trainings, with machine and day.
        outcomes: Those of trainings, as they came back.
        answers: Scored answers of their trials, without texts. Marks stand in the order of the questions' ids; F1, of
            spans, is in thousandths.
    """
    of = {"gpu": entry["machine"]["gpu"], "code": entry["machine"]["code"], "measured": entry["measured"]}
    for each in outcomes:
        outcome = each["outcome"]
        given = answers.filter(pc.equal(answers["trial_id"], outcome["trial_id"])).sort_by("question_id")
        if outcome["failure"] is not None or not given.num_rows:
            continue
        marks = {"correct": pack(given["correct"].to_numpy())}
        if each["task"] == "span":
            marks["f1"] = pack(np.rint(1000 * given["f1"].to_numpy()).astype(np.int64))
        yield (
            each["key"],
            {
                **of,
                **{name: each[name] for name in ("benchmark", "study", "row", "seed", "entry")},
                "outcome": {name: outcome[name] for name in OUTCOME},
                "scored": {"questions": given.num_rows, "digest": digest_of_ids(given["question_id"].to_pylist())}
                | marks,
            },
        )
