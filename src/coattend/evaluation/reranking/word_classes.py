"""Classes of words: those with the same tag that occur about as often.

Cui et al. 2017 cluster words by their neighbours with mkcls (Och 1999), a program that is not at hand as a package.
Tags are there already; words that stand in the same places mostly have the same one.
"""

from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc


def usual_tags(batches: Iterable[pa.RecordBatch]) -> dict[str, int]:
    """The most frequent tag of each word.

    Args:
        batches: The columns ``words`` and ``tags`` of a tags table.

    Returns:
        Word to the id of its tag, the lowest id where several are as frequent.
    """
    counted = [_counts(batch.column("words"), batch.column("tags")) for batch in batches]
    if not counted:
        return {}
    together = pa.concat_tables(counted).group_by(["word", "tag"]).aggregate([("count_all", "sum")])
    # The last one of a word stays in the dictionary.
    rising = together.sort_by([("count_all_sum", "ascending"), ("tag", "descending")])
    return dict(zip(rising["word"].to_pylist(), rising["tag"].to_pylist(), strict=True))


def word_classes(counts: Mapping[str, int], tags: Mapping[str, int], *, bands: int, at_least: int) -> dict[str, str]:
    """Put words into classes.

    Args:
        counts: How often each word occurs.
        tags: The tag of each word, as far as it has one.
        bands: Frequencies are divided into so many bands: words that occur up to 1, 3, 7, 15 ... times.
        at_least: Words that occur less often have no class.

    Returns:
        Word to the name of its class.
    """
    return {
        word: f"{tags.get(word, 'none')}/{min(count.bit_length(), bands)}"
        for word, count in counts.items()
        if count >= at_least
    }


def _counts(words: pa.Array, tags: pa.Array) -> pa.Table:
    pairs = pa.table({"word": pc.list_flatten(words), "tag": pc.list_flatten(tags)})
    return pairs.group_by(["word", "tag"]).aggregate([([], "count_all")])
