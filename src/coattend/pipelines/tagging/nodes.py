"""Words and tags of texts, shard by shard."""

import logging
from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.dataset as pads

from coattend.datasets.sharded import ShardPlan, shards
from coattend.engines.local import map_shards
from coattend.parameters import BenchmarkParameters, TaggingParameters
from coattend.pipelines.shards import origin, values_key, workers_for
from coattend.tables import TAGS
from coattend.text.spans import offsets_of
from coattend.text.tagging import TextTagger, resolve

logger = logging.getLogger(__name__)


def tag(texts: pads.Dataset, tagging: TaggingParameters, benchmark: BenchmarkParameters) -> ShardPlan:
    """Plan the tags of a benchmark's texts.

    Args:
        texts: The texts table.
        tagging: Which tagger, and how.
        benchmark: How many processes.

    Returns:
        A plan for the tags table, a shard for each shard of texts. The schema's metadata names the tagger.

    Raises:
        CoattendError: If the tagger cannot be had.
    """
    tagger = resolve(tagging)
    logger.info("%s is tagged by %s", benchmark.title, tagger.name)
    fragments = shards(texts)

    def make(names: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        items = [(name, fragments[name]) for name in names]
        workers = workers_for((fragment for _, fragment in items), benchmark.workers)
        return map_shards(partial(_tag_shard, tagger), items, workers=workers, title=f"Tagging {benchmark.title}")

    return ShardPlan(
        origin=origin([texts], tagger.digest),
        keys=lambda: {name: values_key(shard, ["text_id"], tagger.digest) for name, shard in fragments.items()},
        make=make,
    )


def _tag_shard(tagger: TextTagger, item: tuple[str, pads.ParquetFileFragment]) -> tuple[str, pa.Table]:
    name, fragment = item
    table = fragment.to_table(columns=["text_id", "text"])
    texts = table.column("text").to_pylist()
    tagged = [tagger(text) for text in texts]
    offsets = pa.array(offsets_of([len(words.starts) for words in tagged]))
    words = [
        text[start:end]
        for text, one in zip(texts, tagged, strict=True)
        for start, end in zip(one.starts, one.ends, strict=True)
    ]
    columns = {
        "words": pa.array(words, pa.string()),
        "tags": pa.array([tag for one in tagged for tag in one.tag_ids], pa.int8()),
        "starts": pa.array([start for one in tagged for start in one.starts], pa.int32()),
        "ends": pa.array([end for one in tagged for end in one.ends], pa.int32()),
    }
    lists = [pa.ListArray.from_arrays(offsets, values) for values in columns.values()]
    schema = TAGS.with_metadata({"tagger": tagger.name})
    return name, pa.Table.from_arrays([table.column("text_id"), *lists], schema=schema)
