"""How many questions and passages there are, beside the published numbers."""

import logging
from collections.abc import Iterator

from coattend.evaluation.groups import EVERYTHING
from coattend.parameters import BenchmarkParameters
from coattend.profiling.material import Material
from coattend.profiling.rows import Row

logger = logging.getLogger(__name__)


def counts(benchmark: BenchmarkParameters, material: Material, rejected: int) -> Iterator[Row]:
    """Questions, the passages that they ask about, and what is left; a difference to the published is a warning.

    Args:
        benchmark: The published numbers.
        material: Its questions and passages.
        rejected: How many records were left out.
    """
    for split, subset, asked in material.groups:
        published = benchmark.published.get(split if subset == EVERYTHING else f"{split}/{subset}", {})
        found = {"questions": len(asked), "passages": len({row["passage_id"] for row in asked})}
        found["unanswerable"] = sum(not row["answerable"] for row in asked)
        for name, count in found.items():
            told = published.get(name)
            if told is not None and told != count:
                place = f"{benchmark.title}, {split}" + (f", {subset}" if subset != EVERYTHING else "")
                logger.warning("%s: %s %s here, %s published", place, f"{count:,}", name, f"{told:,.0f}")
            yield Row("counts", split, subset, name, count, told)
    silent = len(material.passages.keys() - {row["passage_id"] for row in material.questions})
    yield Row("counts", EVERYTHING, EVERYTHING, "passages", len(material.passages))
    yield Row("counts", EVERYTHING, EVERYTHING, "passages without a question", silent)
    yield Row("counts", EVERYTHING, EVERYTHING, "rejected records", rejected)
