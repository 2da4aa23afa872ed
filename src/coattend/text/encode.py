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
    """Turn rows of a texts table into rows of a tags table, in the same order."""
    strings = texts.column("text").to_pylist()
    tagged = tagger.tag_all(strings)
    forms = [
        [text[start:end] for start, end in zip(words.starts, words.ends, strict=True)]
        for text, words in zip(strings, tagged, strict=True)
    ]
    starts, ends, tag_ids = zip(*tagged, strict=True) if tagged else ([], [], [])
    return pa.table([_ids(texts), forms, tag_ids, starts, ends], schema=tags_schema(tagger))


def tokenize_texts(subwords: SubwordTokenizer, texts: pa.Table, tags: pa.Table) -> pa.Table:
    """Turn rows of a texts table and their rows of a tags table into rows of a tokens table, all in the same order.

    Each subword has the tag of its word. The metadata names the tagger and has the tokenizer's digest.
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
