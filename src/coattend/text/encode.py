"""Texts as rows of the tables of tags and of tokens."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coattend.schemas import TAGS, TOKENS
from coattend.text.alignment import Spans, offsets_of, subword_tags, word_index
from coattend.text.tagging import TextTagger
from coattend.text.tokenizer import SubwordTokenizer


def tags_schema(tagger: TextTagger) -> pa.Schema:
    """Return the schema of a tagger's tables; its metadata names the tagger."""
    return TAGS.with_metadata({"tagger": tagger.name, "digest": tagger.digest})


def tag_texts(tagger: TextTagger, texts: pa.Table) -> pa.Table:
    """Split texts into words and tag them.

    Args:
        tagger: The tagger.
        texts: Rows of a texts table.

    Returns:
        Rows of a tags table, in the order of the texts.
    """
    strings = texts.column("text").to_pylist()
    tagged = tagger.tag_all(strings)
    forms = [
        text[start:end]
        for text, words in zip(strings, tagged, strict=True)
        for start, end in zip(words.starts, words.ends, strict=True)
    ]
    offsets = pa.array(offsets_of([len(words.starts) for words in tagged]))
    columns = (
        pa.array(forms, pa.string()),
        pa.array([tag for words in tagged for tag in words.tag_ids], pa.int8()),
        pa.array([start for words in tagged for start in words.starts], pa.int32()),
        pa.array([end for words in tagged for end in words.ends], pa.int32()),
    )
    lists = [pa.ListArray.from_arrays(offsets, values) for values in columns]
    return pa.Table.from_arrays([_ids(texts), *lists], schema=tags_schema(tagger))


def tokenize_texts(subwords: SubwordTokenizer, texts: pa.Table, tags: pa.Table) -> pa.Table:
    """Split texts into subword tokens, each with the tag of its word.

    Args:
        subwords: The tokenizer.
        texts: Rows of a texts table.
        tags: Rows of a tags table, of the same texts in the same order.

    Returns:
        Rows of a tokens table, in the order of the texts; metadata names the tagger and has the tokenizer's digest.
    """
    tags = tags.combine_chunks()
    is_option = pc.equal(texts.column("kind").cast(pa.string()), "option").to_pylist()
    input_ids, spans = subwords.encode(texts.column("text").to_pylist(), is_option)
    lengths = pc.list_value_length(tags.column("tags")).to_numpy()
    words = Spans(_flatten(tags, "starts"), _flatten(tags, "ends"), offsets_of(lengths))
    index = word_index(spans, words)
    tag_ids = subword_tags(index, spans, words, _flatten(tags, "tags"))
    columns = (input_ids, tag_ids, index, spans.starts, spans.ends)
    lists = [pa.ListArray.from_arrays(pa.array(spans.offsets), pa.array(values)) for values in columns]
    tagger = (tags.schema.metadata or {}).get(b"tagger", b"unknown")
    schema = TOKENS.with_metadata({b"tagger": tagger, b"tokenizer": subwords.digest})
    return pa.Table.from_arrays([_ids(texts), *lists], schema=schema)


def _ids(texts: pa.Table) -> pa.Array:
    return texts.column("text_id").combine_chunks()


def _flatten(tags: pa.Table, column: str) -> np.ndarray:
    values: np.ndarray = pc.list_flatten(tags.column(column)).to_numpy()
    return values
