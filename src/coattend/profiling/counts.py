"""How many questions and passages there are, beside the published numbers."""

import logging
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from coattend.parameters import BenchmarkParameters
from coattend.profiling.groups import groups
from coattend.profiling.rows import EVERYTHING, Row

logger = logging.getLogger(__name__)


def counts(benchmark: BenchmarkParameters, questions: pa.Table, passages: int, rejected: int) -> Iterator[Row]:
    """Questions, the passages that they ask about, and what is left; a difference to the published is a warning.

    Args:
        benchmark: The published numbers.
        questions: Its questions.
        passages: How many passages there are, those without a question among them.
        rejected: How many records were left out.
    """
    for split, subset, rows in groups(questions):
        own = questions.take(rows)
        published = benchmark.published.get(split if subset == EVERYTHING else f"{split}/{subset}", {})
        found = {"questions": own.num_rows, "passages": len(pc.unique(own["passage_id"]))}
        found["unanswerable"] = own.num_rows - pc.sum(own["answerable"]).as_py()
        for name, count in found.items():
            told = published.get(name)
            if told is not None and told != count:
                place = f"{benchmark.title}, {split}" + (f", {subset}" if subset != EVERYTHING else "")
                logger.warning("%s: %s %s here, %s published", place, f"{count:,}", name, f"{told:,.0f}")
            yield Row("counts", split, subset, name, count, told)
    asked_about = len(pc.unique(questions["passage_id"]))
    yield Row("counts", EVERYTHING, EVERYTHING, "passages", passages)
    yield Row("counts", EVERYTHING, EVERYTHING, "passages without a question", passages - asked_about)
    yield Row("counts", EVERYTHING, EVERYTHING, "rejected records", rejected)
