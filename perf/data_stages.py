"""Times tagging and tokenising DREAM or RACE against the way of the released code, in one run on the same cores.

That way prepares each pair of a passage and an option on its own: the passage is split, tagged by ``nltk.pos_tag`` and
tokenised again for every option, subwords find their tags by searching for the words in order, and features are padded
to 512. Each round has ours over all pairs, into an empty folder, and then that way over its own slice of them, from
which all is extrapolated; its start-up is not counted.

Run as ``python -m perf.data_stages --raw DIR --benchmark race``, where DIR holds the benchmark's published files and
``nltk_data``. Prints a table, and the same as one line of JSON.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from coattend.benchmarks.formats import reader_of
from coattend.benchmarks.raw import contents, raw_files
from coattend.benchmarks.records import PassageRecord
from coattend.configuration import benchmark_entry
from coattend.datasets.sharded import ShardedTableDataset, ShardPlan
from coattend.datasets.stored_rows import StoredRows
from coattend.engines.local import cores, map_shards
from coattend.parameters import BenchmarkParameters, SourceParameters, TaggingParameters, TokenizerParameters
from coattend.pipelines.tagging.nodes import tag
from coattend.pipelines.tokenization.nodes import tokenize
from coattend.tables import TEXTS
from coattend.text import nltk_data
from coattend.text.identity import text_id
from coattend.text.tagset import ERR, PAD, SPE, tagset
from perf.alternate import alternate, ratio

LENGTH = 512
CHUNK = 40
FEATURE = 4 * LENGTH * 8
"""Bytes of a pair's ids, mask, token types and tags, padded, as 64-bit numbers."""

SPECIAL = {"[PAD]": PAD, "[CLS]": SPE, "[SEP]": SPE}

Pair = tuple[str, str, str]
"""A passage, a question and one of its options."""


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--raw", type=Path, required=True, help="folder of the raw files")
    parser.add_argument("--benchmark", choices=("dream", "race"), default="dream", help="what is prepared")
    parser.add_argument("--pairs", type=int, default=1200, help="how many pairs the released way is timed on in all")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of both ways")
    parser.add_argument("--workers", type=int, default=cores(), help="processes for either way")
    options = parser.parse_args(arguments)
    os.environ["COATTEND_RAW"] = str(options.raw)
    pairs = read_pairs(options.raw, options.benchmark)
    result = {"benchmark": options.benchmark} | measure(
        pairs, timed=options.pairs, workers=options.workers, rounds=options.rounds
    )
    show(result)
    print(json.dumps(result))
    return result


def measure(pairs: list[Pair], *, timed: int, workers: int, rounds: int) -> dict[str, Any]:
    """Time both ways.

    Args:
        pairs: All pairs of a passage and an option.
        timed: How many pairs, spread evenly, the released way is timed on in all rounds together.
        workers: How many processes each way has.
        rounds: How often each way is timed, ours over all pairs each time.
    """
    apart = max(1, len(pairs) // timed)
    slices = iter([pairs[number * apart :: rounds * apart] for number in range(rounds)])
    again, kept = [], 0

    def ours() -> float:
        nonlocal kept
        with tempfile.TemporaryDirectory() as folder:
            seconds, repeated = time_stages(pairs, Path(folder), workers)
            kept = sum(path.stat().st_size for path in Path(folder, "tokens").rglob("*") if path.is_file())
        again.append(repeated)
        return seconds

    def released() -> float:
        own = next(slices)
        return time_released(own, workers) * len(pairs) / len(own)

    taken = alternate({"ours": ours, "released": released}, rounds)
    return {
        "passages": len({passage for passage, _, _ in pairs}),
        "pairs": len(pairs),
        "workers": workers,
        "seconds": statistics.median(taken["ours"]),
        "seconds_again": statistics.median(again),
        "released_pairs_timed": len(pairs[::apart]),
        "released_seconds_extrapolated": statistics.median(taken["released"]),
        "faster": ratio(taken["released"], taken["ours"]),
        "tokens_mb": kept / 1e6,
        "tokens_percent_of_features": 100 * kept / (len(pairs) * FEATURE),
    }


def read_pairs(raw: Path, benchmark: str) -> list[Pair]:
    """Every passage with every option of the splits that are at hand."""
    entry = BenchmarkParameters.model_validate(benchmark_entry(benchmark))
    pairs = []
    for file in raw_files(entry, raw):
        for path, _ in contents(file):
            for record in reader_of(file.source.format, file.source.options)(path, max_characters=100_000):
                if isinstance(record, PassageRecord):
                    pairs += [(record.text, q.question, option) for q in record.questions for option in q.options or ()]
    return pairs


def time_stages(pairs: list[Pair], folder: Path, workers: int) -> tuple[float, float]:
    """Seconds of our two stages over stored texts, and of running them again with nothing changed."""
    source = SourceParameters(format="dream", folder=".", files={})
    benchmark = BenchmarkParameters(title="All pairs", tasks=("options",), sources=(source,), workers=workers)
    texts = store_texts(pairs, folder / "texts", shards=32)
    tags, tokens = (ShardedTableDataset(filepath=str(folder / name)) for name in ("tags", "tokens"))

    def run() -> float:
        start = time.perf_counter()
        tags.save(tag(texts.load(), StoredRows(folder, "nothing"), TaggingParameters(tagger="nltk"), benchmark))
        tokens.save(tokenize(texts.load(), tags.load(), TokenizerParameters(), benchmark))
        return time.perf_counter() - start

    return run(), run()


def store_texts(pairs: list[Pair], folder: Path, shards: int) -> ShardedTableDataset:
    """Each distinct text once, as ingestion stores it."""
    kinds: dict[str, str] = dict.fromkeys((passage for passage, _, _ in pairs), "passage")
    for _, question, option in pairs:
        kinds.setdefault(question, "question")
        kinds.setdefault(option, "option")
    rows: dict[str, list[dict[str, str]]] = defaultdict(list)
    for text, kind in kinds.items():
        name = text_id(text)
        rows[f"{int(name[:8], 16) % shards:04d}"].append({"text_id": name, "kind": kind, "text": text})
    stored = ShardedTableDataset(filepath=str(folder))
    make = {name: pa.Table.from_pylist(content, TEXTS) for name, content in rows.items()}
    stored.save(
        ShardPlan("once", lambda: dict.fromkeys(make, "once"), lambda names: ((name, make[name]) for name in names))
    )
    return stored


def time_released(pairs: list[Pair], workers: int) -> float:
    """Seconds that the processes of the released way work side by side, start-up left out."""
    chunks = [pairs[start : start + CHUNK] for start in range(0, len(pairs), CHUNK)]
    worked = list(map_shards(prepare, chunks, workers=workers, title="The released way"))
    return sum(worked) / workers


def prepare(pairs: list[Pair]) -> float:
    """Seconds for preparing some pairs one by one."""
    tools()
    start = time.perf_counter()
    features = [feature(*pair) for pair in pairs]
    assert all(len(one) == 4 for one in features)
    return time.perf_counter() - start


def feature(passage: str, question: str, option: str) -> tuple[list[int], list[int], list[int], list[int]]:
    """Ids, mask, token types and tags of one pair, padded."""
    pos_tag, word_tokenize, tokenizer, ids = tools()
    asked = f"{question} {option}"
    encoded = tokenizer(passage, asked, max_length=LENGTH, padding="max_length", truncation="only_first")
    tagged = [pair for text in (passage, asked) for pair in pos_tag(word_tokenize(text))]
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
        tags.append(ids.get(tagged[word][1], ERR))
    return encoded["input_ids"], encoded["attention_mask"], encoded["token_type_ids"], tags


@cache
def tools() -> tuple[Any, Any, Any, dict[str, int]]:
    """What the released way works with, loaded once a process."""
    import nltk
    from transformers import AutoTokenizer

    from coattend.text.tokenizer_files import find

    nltk.data.path += [str(nltk_data.find(package)) for package in nltk_data.PACKAGES]
    nltk.pos_tag(nltk.word_tokenize("Load the data now."))
    tokenizer = AutoTokenizer.from_pretrained(str(find("embedded").folder))
    ids = {name: number for number, name in enumerate(tagset("penn").names)}
    return nltk.pos_tag, nltk.word_tokenize, tokenizer, ids


def show(result: dict[str, Any]) -> None:
    """Print the table."""
    rows = [
        ("passages", f"{result['passages']:,}"),
        ("pairs of a passage and an option", f"{result['pairs']:,}"),
        ("processes for either way", f"{result['workers']}"),
        ("tagging and tokenising each text once, s", f"{result['seconds']:.1f}"),
        ("... and again with nothing changed, s", f"{result['seconds_again']:.2f}"),
        (
            f"the released way, s (extrapolated from {result['released_pairs_timed']:,} pairs)",
            f"{result['released_seconds_extrapolated']:.1f}",
        ),
        ("times faster", f"{result['faster']['ratio']:.1f}"),
        ("tokens on disk, MB", f"{result['tokens_mb']:.1f}"),
        ("... % of a padded file for each pair", f"{result['tokens_percent_of_features']:.2f}"),
    ]
    for name, value in rows:
        print(f"{name:<70}{value:>12}")


if __name__ == "__main__":
    main()
