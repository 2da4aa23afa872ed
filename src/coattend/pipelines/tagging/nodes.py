"""Node of the tagging pipeline: words and tags of texts, shard by shard."""

import logging
from collections.abc import Iterator, Sequence
from functools import partial

from coattend.config import LOCAL, BenchmarkParameters, EngineParameters, TaggingParameters
from coattend.pipelines.annotations import Dataset, ParquetFileFragment, ShardPlan, StoredRows, Table, TextTagger
from coattend.pipelines.shards import column_digest, tables_digest, worker_count

logger = logging.getLogger(__name__)


def tag(
    texts: Dataset,
    tagged_before: StoredRows,
    tagging: TaggingParameters,
    benchmark: BenchmarkParameters,
    engine: EngineParameters = LOCAL,
) -> ShardPlan:
    """Plan the tags of a benchmark's texts, a shard for each of theirs.

    Tags of texts that any benchmark has tagged with this profile are reused.
    """
    from coattend.io.sharded import ShardPlan, shards
    from coattend.parallel.engine import map_shards
    from coattend.text.tagging import load_tagger

    tagger = load_tagger(tagging)
    logger.info("%s is tagged by %s", benchmark.title, tagger.name)
    fragments = shards(texts)

    def make(names: Sequence[str]) -> Iterator[tuple[str, Table]]:
        items = [(name, fragments[name]) for name in names]
        workers = worker_count((fragment for _, fragment in items), benchmark.workers)
        tag_shard = partial(_tag_shard, tagger, tagged_before)
        return map_shards(engine, tag_shard, items, workers=workers, title=f"Tagging {benchmark.title}")

    return ShardPlan(
        origin=tables_digest([texts], tagger.digest),
        keys=lambda: {name: column_digest(shard, ["text_id"], tagger.digest) for name, shard in fragments.items()},
        make=make,
    )


def _tag_shard(
    tagger: TextTagger, tagged_before: StoredRows, item: tuple[str, ParquetFileFragment]
) -> tuple[str, Table]:
    import pyarrow as pa
    import pyarrow.compute as pc

    from coattend.text.encode import tag_texts, tags_schema

    name, fragment = item
    texts = fragment.to_table(columns=["text_id", "text"])
    ids = texts.column("text_id").combine_chunks()
    schema = tags_schema(tagger)
    stored = tagged_before.find(ids, shard=name, made_by={b"digest": tagger.digest.encode()})
    reused = pa.concat_tables([schema.empty_table(), *(part.cast(schema) for part in stored)])
    missing = texts.filter(pc.invert(pc.is_in(ids, reused.column("text_id").combine_chunks())))
    table = pa.concat_tables([reused, tag_texts(tagger, missing)])
    # In the order of the texts.
    return name, table.take(pc.index_in(ids, table.column("text_id").combine_chunks()))
