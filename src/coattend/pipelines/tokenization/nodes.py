"""Subword tokens of texts and the tags of their words, shard by shard."""

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.dataset as pads

from coattend.datasets.sharded import ShardPlan, shards
from coattend.engines.choice import map_shards
from coattend.errors import CoattendError
from coattend.parameters import LOCAL, BenchmarkParameters, EngineParameters, TokenizerParameters
from coattend.pipelines.shards import file_key, origin, values_key, workers_for
from coattend.text.stored import tokenized
from coattend.text.subwords import Subwords, load_tokenizer, start_worker

Item = tuple[str, pads.ParquetFileFragment, pads.ParquetFileFragment]


def tokenize(
    texts: pads.Dataset,
    tags: pads.Dataset,
    tokenizer: TokenizerParameters,
    benchmark: BenchmarkParameters,
    engine: EngineParameters = LOCAL,
) -> ShardPlan:
    """Plan the subword tokens of a benchmark's texts.

    Args:
        texts: The texts table.
        tags: The tags table, shard for shard of the same texts.
        tokenizer: Which tokenizer.
        benchmark: How many processes.
        engine: Where they are.

    Returns:
        A plan for the tokens table. The schema's metadata names the tagger and has the tokenizer's digest.

    Raises:
        CoattendError: If the tokenizer cannot be had, or the tags are of other texts.
    """
    subwords = load_tokenizer(tokenizer)
    fragments, tagged = shards(texts), shards(tags)
    if fragments.keys() != tagged.keys():
        raise _other_texts(benchmark)

    def make(names: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        return map_shards(
            engine,
            partial(_tokenize_shard, subwords, benchmark),
            [(name, fragments[name], tagged[name]) for name in names],
            workers=workers_for((fragments[name] for name in names), benchmark.workers),
            initializer=start_worker,
            title=f"Tokenising {benchmark.title}",
        )

    def keys() -> dict[str, str]:
        return {
            name: values_key(fragment, ["text_id", "kind"], file_key(tagged[name]), subwords.digest)
            for name, fragment in fragments.items()
        }

    return ShardPlan(origin=origin([texts, tags], subwords.digest), keys=keys, make=make)


def _tokenize_shard(subwords: Subwords, benchmark: BenchmarkParameters, item: Item) -> tuple[str, pa.Table]:
    name, fragment, tagged = item
    texts = fragment.to_table(columns=["text_id", "kind", "text"])
    tags = tagged.to_table(columns=["text_id", "tags", "starts", "ends"])
    if not texts.column("text_id").equals(tags.column("text_id")):
        raise _other_texts(benchmark)
    return name, tokenized(subwords, texts, tags)


def _other_texts(benchmark: BenchmarkParameters) -> CoattendError:
    return CoattendError(
        "the tags are not those of the texts",
        where=f"benchmark {benchmark.title}",
        cure="Run the pipelines ingestion, tagging and tokenization in one command",
    )
