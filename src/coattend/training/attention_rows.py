"""Maps as rows of the attention table."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from coattend.readers.legend import Reading
from coattend.tables import ATTENTION
from coattend.training.looking import Sequence as Seen
from coattend.training.looking import Token


def rows_of(question: str, trial: str, sequences: Sequence[Seen], legend: Mapping[str, Reading]) -> pa.Table:
    """The rows of one question: a block for each sequence and map. A sequence without maps has none.

    Args:
        question: Its id.
        trial: Whose maps they are.
        sequences: What was given, and where was looked.
        legend: How each map is read.
    """
    parts = [ATTENTION.empty_table()]
    for number, sequence in enumerate(sequences):
        for name, values in sequence.maps.items():
            tokens = sequence.passage if legend[name].seen == "passage" else sequence.question
            parts.append(
                _block({"question_id": question, "trial_id": trial, "sequence": number, "map": name}, tokens, values)
            )
    return pa.concat_tables(parts)


def _block(same: Mapping[str, str | int], tokens: Sequence[Token], values: np.ndarray) -> pa.Table:
    """The rows of one map [levels, tokens]."""
    count = len(tokens)
    domains, texts, starts, ends = zip(*tokens, strict=True)
    columns = {name: [value] * count for name, value in same.items()} | {
        "domain": list(domains),
        "token": np.arange(count, dtype=np.int32),
        "text": list(texts),
        "start": list(starts),
        "end": list(ends),
        "values": list(values.T.astype(np.float32)),
    }
    return pa.table({field.name: pa.array(columns[field.name], field.type) for field in ATTENTION}, schema=ATTENTION)
