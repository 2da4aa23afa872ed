"""Words and tags of texts, shard by shard."""

import logging
from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from coattend.datasets.sharded import ShardPlan, shards
from coattend.datasets.stored_rows import StoredRows
from coattend.engines.choice import map_shards
from coattend.parameters import LOCAL, BenchmarkParameters, EngineParameters, TaggingParameters
from coattend.pipelines.shards import origin, values_key, workers_for
from coattend.text.stored import tagged, tags_schema
from coattend.text.tagging import TextTagger, resolve

logger = logging.getLogger(__name__)


def tag(
    texts: pads.Dataset,
    tagged_before: StoredRows,
    tagging: TaggingParameters,
    benchmark: BenchmarkParameters,
    engine: EngineParameters = LOCAL,
) -> ShardPlan:
    """Plan the tags of a benchmark's texts. A text that any benchmark has tagged in the same way is not tagged again.

    Args:
        texts: The texts table.
        tagged_before: The tags of all benchmarks, as far as they are stored.
        tagging: Which tagger, and how.
        benchmark: How many processes.
        engine: Where they are.

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
        work = partial(_tag_shard, tagger, tagged_before)
        return map_shards(engine, work, items, workers=workers, title=f"Tagging {benchmark.title}")

    return ShardPlan(
        origin=origin([texts], tagger.digest),
        keys=lambda: {name: values_key(shard, ["text_id"], tagger.digest) for name, shard in fragments.items()},
        make=make,
    )


def _tag_shard(
    tagger: TextTagger, tagged_before: StoredRows, item: tuple[str, pads.ParquetFileFragment]
) -> tuple[str, pa.Table]:
    name, fragment = item
    texts = fragment.to_table(columns=["text_id", "text"])
    ids = texts.column("text_id").combine_chunks()
    schema = tags_schema(tagger)
    known = tagged_before.find(ids, shard=name, made_by={b"digest": tagger.digest.encode()})
    old = pa.concat_tables([schema.empty_table(), *(part.cast(schema) for part in known)])
    new = texts.filter(pc.invert(pc.is_in(ids, old.column("text_id").combine_chunks())))
    table = pa.concat_tables([old, tagged(tagger, new)])
    return name, table.take(pc.index_in(ids, table.column("text_id").combine_chunks()))
