"""Node of the tokenization pipeline: subword tokens and the tags of their words, shard by shard."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from coattend.config import LOCAL, BenchmarkParameters, EngineParameters, TokenizerParameters
from coattend.config.source import run_command
from coattend.errors import CoattendError
from coattend.pipelines.annotations import Dataset, ParquetFileFragment, ShardPlan, SubwordTokenizer, Table
from coattend.pipelines.shards import column_digest, tables_digest, worker_count
from coattend.text.hashing import file_digest

Item = tuple[str, ParquetFileFragment, ParquetFileFragment]


def tokenize(
    texts: Dataset,
    tags: Dataset,
    tokenizer: TokenizerParameters,
    benchmark: BenchmarkParameters,
    engine: EngineParameters = LOCAL,
) -> ShardPlan:
    """Plan the subword tokens of a benchmark's texts, which the tags follow shard for shard."""
    from coattend.io.sharded import ShardPlan, shards
    from coattend.parallel.engine import map_shards
    from coattend.text.tokenizer import load_tokenizer, start_worker

    subwords = load_tokenizer(tokenizer)
    text_shards, tag_shards = shards(texts), shards(tags)
    if text_shards.keys() != tag_shards.keys():
        raise _other_texts(benchmark)

    def make(names: Sequence[str]) -> Iterator[tuple[str, Table]]:
        items = [(name, text_shards[name], tag_shards[name]) for name in names]
        workers = worker_count((shard for _, shard, _ in items), benchmark.workers)
        tokenize_shard, title = partial(_tokenize_shard, subwords, benchmark), f"Tokenising {benchmark.title}"
        return map_shards(engine, tokenize_shard, items, workers=workers, initializer=start_worker, title=title)

    def keys() -> dict[str, str]:
        return {
            name: column_digest(shard, ["text_id", "kind"], file_digest(Path(tag_shards[name].path)), subwords.digest)
            for name, shard in text_shards.items()
        }

    return ShardPlan(origin=tables_digest([texts, tags], subwords.digest), keys=keys, make=make)


def _tokenize_shard(subwords: SubwordTokenizer, benchmark: BenchmarkParameters, item: Item) -> tuple[str, Table]:
    from coattend.text.encode import tokenize_texts

    name, text_shard, tag_shard = item
    texts = text_shard.to_table(columns=["text_id", "kind", "text"])
    tags = tag_shard.to_table(columns=["text_id", "tags", "starts", "ends"])
    if not texts.column("text_id").equals(tags.column("text_id")):
        raise _other_texts(benchmark)
    return name, tokenize_texts(subwords, texts, tags)


def _other_texts(benchmark: BenchmarkParameters) -> CoattendError:
    command = run_command(pipelines="ingestion,tagging,tokenization", namespaces=benchmark.name)
    cure = f"Run them in one command: {command}"
    return CoattendError("the tags are not those of the texts", where=f"benchmark {benchmark.title}", cure=cure)
