"""Tagging and tokenising DREAM or RACE, beside the way of the papers' released code on the same cores.

That way prepares each pair of a passage and an option on its own: the passage is split, tagged by ``nltk.pos_tag`` and
tokenised again for every option, subwords find their tags by searching for the words in order, and features are padded
to 512. Each round has the product's stages over all pairs, into an empty folder, and then that way over a slice of
them, from which all is extrapolated; its start-up is not counted.
"""

import statistics
import tempfile
import time
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from coattend.config import LOCAL, BenchmarkParameters, SourceParameters, TaggingParameters, TokenizerParameters
from coattend.config.entries import benchmark_entry
from coattend.data.formats import format_reader
from coattend.data.formats.base import PassageRecord
from coattend.data.raw_files import raw_files, readable_files
from coattend.io.sharded import ShardedTableDataset, ShardPlan
from coattend.io.table_store import StoredRows
from coattend.parallel.engine import map_shards
from coattend.parallel.processes import cores
from coattend.pipelines.tagging.nodes import tag
from coattend.pipelines.tokenization.nodes import tokenize
from coattend.schemas import TEXTS
from coattend.text import nltk as nltk_data
from coattend.text.hashing import text_id
from coattend.text.tagset import ERR, PAD, SPE, tagset
from perf.timing import alternate, ratio

LENGTH = 512
CHUNK = 40
PAIRS = 1200
"""Pairs that the released way is timed on in all rounds together."""
FEATURE = 4 * LENGTH * 8
"""Bytes of a pair's ids, mask, token types and tags, padded, as 64-bit numbers."""
SPECIAL = {"[PAD]": PAD, "[CLS]": SPE, "[SEP]": SPE}

Pair = tuple[str, str, str]
"""A passage, a question and one of its options."""


def measure(raw: Path, benchmark: str, rounds: int) -> dict[str, Any]:
    """Time both ways over a benchmark whose files lie in a folder, and ``nltk_data`` in that of ``COATTEND_RAW``."""
    figures = compare(read_pairs(raw, benchmark), pairs_timed=PAIRS, workers=cores(), rounds=rounds)
    return {"benchmark": benchmark} | figures


def compare(pairs: list[Pair], *, pairs_timed: int, workers: int, rounds: int) -> dict[str, Any]:
    """Time both ways.

    Args:
        pairs: All pairs of a passage and an option.
        pairs_timed: Pairs, spread evenly, that the released way is timed on in all rounds together.
        workers: Processes of either way.
        rounds: Rounds of both, of which each has the product's stages over all pairs.
    """
    stride = max(1, len(pairs) // pairs_timed)
    slices = iter([pairs[number * stride :: rounds * stride] for number in range(rounds)])
    token_bytes = 0

    def product() -> float:
        nonlocal token_bytes
        with tempfile.TemporaryDirectory() as folder:
            seconds = time_stages(pairs, Path(folder), workers)
            token_bytes = sum(path.stat().st_size for path in Path(folder, "tokens").rglob("*") if path.is_file())
        return seconds

    def released() -> float:
        sample = next(slices)
        return time_released(sample, workers) * len(pairs) / len(sample)

    seconds = alternate({"ours": product, "released": released}, rounds)
    return {
        "passages": len({passage for passage, _, _ in pairs}),
        "pairs": len(pairs),
        "workers": workers,
        "seconds": statistics.median(seconds["ours"]),
        "released_seconds_extrapolated": statistics.median(seconds["released"]),
        "faster": ratio(seconds["released"], seconds["ours"]),
        "tokens_percent_of_features": 100 * token_bytes / (len(pairs) * FEATURE),
    }


def read_pairs(raw: Path, benchmark: str) -> list[Pair]:
    """Read every passage with every option of all splits that there are."""
    entry = BenchmarkParameters.model_validate(benchmark_entry(benchmark))
    pairs = []
    for file in raw_files(entry, raw):
        for path, _ in readable_files(file):
            for record in format_reader(file.source.format, file.source.options)(path, max_characters=100_000):
                if isinstance(record, PassageRecord):
                    pairs += [(record.text, q.question, option) for q in record.questions for option in q.options or ()]
    return pairs


def time_stages(pairs: list[Pair], folder: Path, workers: int) -> float:
    """Return the seconds of tagging and tokenising stored texts."""
    source = SourceParameters(format="dream", folder=".", files={})
    benchmark = BenchmarkParameters(title="All pairs", tasks=("options",), sources=(source,), workers=workers)
    texts = store_texts(pairs, folder / "texts", shards=32)
    tags, tokens = (ShardedTableDataset(filepath=str(folder / name)) for name in ("tags", "tokens"))
    start = time.perf_counter()
    tags.save(tag(texts.load(), StoredRows(folder, "nothing"), TaggingParameters(tagger="nltk"), benchmark))
    tokens.save(tokenize(texts.load(), tags.load(), TokenizerParameters(), benchmark))
    return time.perf_counter() - start


def store_texts(pairs: list[Pair], folder: Path, shards: int) -> ShardedTableDataset:
    """Store each distinct text once, as ingestion does."""
    kinds: dict[str, str] = dict.fromkeys((passage for passage, _, _ in pairs), "passage")
    for _, question, option in pairs:
        kinds.setdefault(question, "question")
        kinds.setdefault(option, "option")
    rows: dict[str, list[dict[str, str]]] = defaultdict(list)
    for text, text_kind in kinds.items():
        identifier = text_id(text)
        shard = f"{int(identifier[:8], 16) % shards:04d}"
        rows[shard].append({"text_id": identifier, "kind": text_kind, "text": text})
    tables = {shard: pa.Table.from_pylist(shard_rows, TEXTS) for shard, shard_rows in rows.items()}
    stored = ShardedTableDataset(filepath=str(folder))
    plan = ShardPlan("once", lambda: dict.fromkeys(tables, "once"), lambda names: ((n, tables[n]) for n in names))
    stored.save(plan)
    return stored


def time_released(pairs: list[Pair], workers: int) -> float:
    """Return the seconds that the processes of the released way work side by side, without their start-up."""
    chunks = [pairs[start : start + CHUNK] for start in range(0, len(pairs), CHUNK)]
    return sum(map_shards(LOCAL, prepare, chunks, workers=workers, title="The released way")) / workers


def prepare(pairs: list[Pair]) -> float:
    """Prepare some pairs one by one, and return the seconds."""
    released_tools()
    start = time.perf_counter()
    for pair in pairs:
        released_features(*pair)
    return time.perf_counter() - start


def released_features(passage: str, question: str, option: str) -> tuple[list[int], list[int], list[int], list[int]]:
    """Make the ids, mask, token types and tags of one pair, padded."""
    pos_tag, word_tokenize, tokenizer, tag_ids = released_tools()
    second = f"{question} {option}"
    encoded = tokenizer(passage, second, max_length=LENGTH, padding="max_length", truncation="only_first")
    tagged = [pair for text in (passage, second) for pair in pos_tag(word_tokenize(text))]
    tags, word, rest = [], 0, tagged[0][0].lower()
    for token in tokenizer.convert_ids_to_tokens(encoded["input_ids"]):
        if token in SPECIAL:
            tags.append(SPECIAL[token])
            continue
        piece = token.removeprefix("##")
        if piece not in rest and word < len(tagged) - 1:
            word += 1
            rest = tagged[word][0].lower()
        rest = rest.replace(piece, "", 1)
        tags.append(tag_ids.get(tagged[word][1], ERR))
    return encoded["input_ids"], encoded["attention_mask"], encoded["token_type_ids"], tags


@cache
def released_tools() -> tuple[Any, Any, Any, dict[str, int]]:
    """Load the tagger, word tokenizer, subword tokenizer and tag ids of the released way once a process."""
    import nltk
    from transformers import AutoTokenizer

    from coattend.readers.encoders.pretrained import EMBEDDED, encoder_folder

    nltk.data.path += [str(nltk_data.find_package(package)) for package in nltk_data.PACKAGES]
    nltk.pos_tag(nltk.word_tokenize("Load the data now."))
    tokenizer = AutoTokenizer.from_pretrained(str(encoder_folder(EMBEDDED)))
    tag_ids = {name: number for number, name in enumerate(tagset("penn").names)}
    return nltk.pos_tag, nltk.word_tokenize, tokenizer, tag_ids
