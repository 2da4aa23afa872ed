"""A small benchmark's texts, stored in shards."""

from pathlib import Path

import pyarrow as pa

from coattend.config import BenchmarkParameters, SourceParameters, TaggingParameters
from coattend.data.text_store import shard_name
from coattend.io.schema_validator import SchemaValidator
from coattend.io.sharded import ShardedTableDataset, ShardPlan
from coattend.io.table_store import StoredRows
from coattend.pipelines.tagging.nodes import tag
from coattend.schemas import TEXTS
from coattend.text.hashing import text_id

BENCHMARK = BenchmarkParameters(
    title="Tiny", tasks=("options",), sources=(SourceParameters(format="dream", folder=".", files={}),), shards=4
)
LEXICON = TaggingParameters(tagger="textblob")
KINDS = {
    "W: The old captain sailed to Norway.\nM: He can't have.": "passage",
    "Who sailed?": "question",
    "The captain.": "option",
    "A \"gull\" 😀 e\u0301t\u00e9": "option",
    "The _ sailed to Norway.".replace("_", "gull"): "filled",
    "": "option",
}  # fmt: skip


def shard_of(text: str, shards: int = 4) -> str:
    return shard_name(int(text_id(text)[:8], 16) % shards, shards)


def save_texts(folder: Path, kind_of_text: dict[str, str] = KINDS, shards: int = 4) -> ShardedTableDataset:
    """Store texts as ingestion does."""
    rows: dict[str, list] = {shard_name(shard, shards): [] for shard in range(shards)}
    for text, text_kind in kind_of_text.items():
        rows[shard_of(text, shards)].append({"text_id": text_id(text), "kind": text_kind, "text": text})
    stored = ShardedTableDataset(filepath=str(folder / "texts"))
    keys = {name: str(content) for name, content in rows.items()}
    stored.save(
        ShardPlan(
            repr(rows), lambda: keys, lambda names: ((name, pa.Table.from_pylist(rows[name], TEXTS)) for name in names)
        )
    )
    return stored


def save_tags(
    folder: Path,
    texts: ShardedTableDataset,
    tagging: TaggingParameters = LEXICON,
    tagged: StoredRows | None = None,
) -> ShardedTableDataset:
    """Run the tagging node and store its plan as the catalog does; by default it looks up its own earlier tags."""
    stored = ShardedTableDataset(filepath=str(folder / "tags"))
    plan = tag(texts.load(), tagged or StoredRows(folder, "tags"), tagging, BENCHMARK)
    stored.save(SchemaValidator("tags").validate(plan))
    return stored


def written(folder: Path) -> dict[str, int]:
    """Return the modification time of each shard."""
    return {file.stem: file.stat().st_mtime_ns for file in folder.glob("*.parquet")}


def rewritten(before: dict[str, int], after: dict[str, int]) -> set[str]:
    """The shards that were written anew."""
    return {name for name in after if before.get(name) != after[name]}
