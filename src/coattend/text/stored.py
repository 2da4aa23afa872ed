"""Texts as rows of the tables of tags and of tokens."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coattend.tables import TAGS, TOKENS
from coattend.text.alignment import tags_of, word_index
from coattend.text.spans import Spans, offsets_of
from coattend.text.subwords import Subwords
from coattend.text.tagging import TextTagger


def tags_schema(tagger: TextTagger) -> pa.Schema:
    """The schema of what a tagger makes; its metadata names the tagger."""
    return TAGS.with_metadata({"tagger": tagger.name, "digest": tagger.digest})


def tagged(tagger: TextTagger, texts: pa.Table) -> pa.Table:
    """Words and tags of texts.

    Args:
        tagger: Who tags.
        texts: Rows of a texts table.

    Returns:
        Rows of a tags table, in the order of the texts.
    """
    written = texts.column("text").to_pylist()
    found = tagger.many(written)
    offsets = pa.array(offsets_of([len(words.starts) for words in found]))
    words = [
        text[start:end]
        for text, one in zip(written, found, strict=True)
        for start, end in zip(one.starts, one.ends, strict=True)
    ]
    columns = {
        "words": pa.array(words, pa.string()),
        "tags": pa.array([tag for one in found for tag in one.tag_ids], pa.int8()),
        "starts": pa.array([start for one in found for start in one.starts], pa.int32()),
        "ends": pa.array([end for one in found for end in one.ends], pa.int32()),
    }
    lists = [pa.ListArray.from_arrays(offsets, values) for values in columns.values()]
    return pa.Table.from_arrays([_ids(texts), *lists], schema=tags_schema(tagger))


def tokenized(subwords: Subwords, texts: pa.Table, tags: pa.Table) -> pa.Table:
    """Subword tokens of texts, each with the tag of its word.

    Args:
        subwords: The tokenizer.
        texts: Rows of a texts table.
        tags: Rows of a tags table, of the same texts in the same order.

    Returns:
        Rows of a tokens table, in the order of the texts; metadata names the tagger and has the tokenizer's digest.
    """
    tags = tags.combine_chunks()
    options = pc.equal(texts.column("kind").cast(pa.string()), "option").to_pylist()
    ids, spans = subwords.encode(texts.column("text").to_pylist(), options)
    words = Spans(_flat(tags, "starts"), _flat(tags, "ends"), _offsets(tags))
    index = word_index(spans, words)
    columns = {
        "input_ids": ids,
        "tag_ids": tags_of(index, spans, words, _flat(tags, "tags")),
        "word_index": index,
        "starts": spans.starts,
        "ends": spans.ends,
    }
    lists = [pa.ListArray.from_arrays(pa.array(spans.offsets), pa.array(values)) for values in columns.values()]
    tagger = (tags.schema.metadata or {}).get(b"tagger", b"unknown")
    schema = TOKENS.with_metadata({b"tagger": tagger, b"tokenizer": subwords.digest})
    return pa.Table.from_arrays([_ids(texts), *lists], schema=schema)


def _ids(texts: pa.Table) -> pa.Array:
    return texts.column("text_id").combine_chunks()


def _flat(tags: pa.Table, column: str) -> np.ndarray:
    values: np.ndarray = pc.list_flatten(tags.column(column)).to_numpy()
    return values


def _offsets(tags: pa.Table) -> np.ndarray:
    lengths = pc.list_value_length(tags.column("tags")).to_numpy()
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
