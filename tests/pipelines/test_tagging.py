import hashlib
import json
import logging
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kedro.io import DataCatalog, DatasetError, MemoryDataset
from kedro.pipeline import Pipeline
from kedro.runner import SequentialRunner
from stored_texts import BENCHMARK, KINDS, LEXICON, rewritten, save_tags, save_texts, shard_of, written

from coattend.config import LOCAL, TaggingParameters
from coattend.errors import CoattendError
from coattend.io.atomic import checksum_path
from coattend.io.schema_validator import SchemaValidator
from coattend.io.sharded import ShardedTableDataset
from coattend.io.sharded import shards as shards_of
from coattend.io.table_store import StoredRows, StoredRowsDataset
from coattend.pipelines import tagging
from coattend.pipelines.tagging.nodes import tag
from coattend.text.hashing import text_id
from coattend.text.tagset import tagset

NOTHING = StoredRows(Path("nowhere"), "*")


def rows(stored) -> dict[str, dict]:
    return {row["text_id"]: row for row in stored.load().to_table().to_pylist()}


def test_each_text_has_its_words_places_and_tags(tmp_path):
    tagged = rows(save_tags(tmp_path, save_texts(tmp_path)))
    assert tagged.keys() == {text_id(text) for text in KINDS}
    for text in KINDS:
        row = tagged[text_id(text)]
        assert row["words"] == [text[start:end] for start, end in zip(row["starts"], row["ends"], strict=True)]
        assert "".join(row["words"]) == "".join(text.split())
        assert len(row["tags"]) == len(row["words"])
    names = tagset("penn").names
    option = tagged[text_id("The captain.")]
    assert [names[number] for number in option["tags"]] == ["DT", "NN", "ERR"]


def test_the_table_is_valid_and_names_its_tagger(tmp_path, caplog):
    with caplog.at_level(logging.INFO):
        stored = save_tags(tmp_path, save_texts(tmp_path)).load()
    SchemaValidator("tags").validate(stored)
    assert stored.schema.metadata[b"tagger"] == b"textblob lexicon"
    assert "Tiny is tagged by textblob lexicon" in caplog.text


def test_a_second_run_writes_nothing(tmp_path):
    texts = save_texts(tmp_path)
    save_tags(tmp_path, texts)
    before = written(tmp_path / "tags")
    save_tags(tmp_path, texts)
    assert rewritten(before, written(tmp_path / "tags")) == set()
    assert len(before) == 4


def test_a_new_text_is_tagged_with_its_shard_alone(tmp_path):
    save_tags(tmp_path, save_texts(tmp_path))
    before = written(tmp_path / "tags")
    tagged = rows(save_tags(tmp_path, save_texts(tmp_path, KINDS | {"Something new.": "option"})))
    assert rewritten(before, written(tmp_path / "tags")) == {shard_of("Something new.")}
    assert text_id("Something new.") in tagged


def mark(folder: Path, **changes: str) -> None:
    """Rewrite a stored table so that its rows tell where they come from: every word is tagged as number 7."""
    for path in folder.glob("*.parquet"):
        table = pq.read_table(path)
        tags = [[7] * len(row) for row in table.column("tags").to_pylist()]
        column = table.schema.get_field_index("tags")
        table = table.set_column(column, table.schema.field("tags"), pa.array(tags, table.schema.field("tags").type))
        metadata = table.schema.metadata | {key.encode(): value.encode() for key, value in changes.items()}
        pq.write_table(table.replace_schema_metadata(metadata), path, write_page_checksum=True, compression="none")


def mark_whole(folder: Path) -> None:
    """Mark a table whose manifest then still says that it is whole."""
    mark(folder)
    manifest = folder / "_manifest.json"
    content = json.loads(manifest.read_text())
    for name, shard in content["shards"].items():
        shard["sha256"] = hashlib.sha256((folder / f"{name}.parquet").read_bytes()).hexdigest()
    manifest.write_text(json.dumps(content))


def marked(stored) -> set[str]:
    return {name for name, row in rows(stored).items() if row["words"] and set(row["tags"]) == {7}}


def with_words(texts) -> set[str]:
    return {text_id(text) for text in texts if text.split()}


def test_a_text_that_another_benchmark_has_is_not_tagged_again(tmp_path):
    """Whatever the number of shards of either: an id's remainder says where to look."""
    for shards in (1, 2, 3, 4, 6):
        folder = tmp_path / str(shards)
        other_tags = save_tags(folder / "04" / "other", save_texts(folder / "other", shards=shards))
        before = rows(other_tags)
        mark(folder / "04" / "other" / "tags")
        texts = save_texts(folder, KINDS | {"Something new.": "option"})
        stored = save_tags(folder / "04" / "mine", texts, tagged=StoredRows(folder / "04", "*/tags"))
        assert marked(stored) == with_words(KINDS)
        assert {name: row["words"] for name, row in rows(stored).items() if name in before} == {
            name: row["words"] for name, row in before.items()
        }


def test_of_a_changed_shard_only_new_texts_are_tagged(tmp_path):
    save_tags(tmp_path, save_texts(tmp_path))
    mark_whole(tmp_path / "tags")
    stored = save_tags(tmp_path, save_texts(tmp_path, KINDS | {"Something new.": "option"}))
    assert marked(stored) == with_words(KINDS)
    assert set(rows(stored)[text_id("Something new.")]["tags"]) != {7}


@pytest.mark.parametrize(("before", "after"), [(2, 4), (4, 2), (2, 3)])
def test_another_number_of_shards_tags_nothing_again(tmp_path, before, after):
    texts = KINDS | {f"Text number {number}.": "option" for number in range(40)}
    save_tags(tmp_path, save_texts(tmp_path, texts, shards=before))
    mark_whole(tmp_path / "tags")
    stored = save_tags(tmp_path, save_texts(tmp_path, texts, shards=after))
    assert marked(stored) == with_words(texts)
    assert len(written(tmp_path / "tags")) == after


def test_shards_follow_the_names_of_those_of_the_texts(tmp_path):
    """Though not a byte of any text's shard has changed."""
    save_tags(tmp_path, save_texts(tmp_path))
    manifest = tmp_path / "texts" / "_manifest.json"
    for file in list(manifest.parent.glob("*.parquet")):
        file.rename(file.with_stem(f"{file.stem}-renamed"))
        manifest.write_text(manifest.read_text().replace(f'"{file.stem}"', f'"{file.stem}-renamed"'))
    checksum_path(manifest).unlink()
    texts = ShardedTableDataset(filepath=str(tmp_path / "texts"))
    stored = save_tags(tmp_path, texts)
    assert shards_of(stored.load()).keys() == shards_of(texts.load()).keys()


def test_tags_that_were_made_otherwise_are_not_taken(tmp_path):
    save_tags(tmp_path / "other", save_texts(tmp_path / "other"))
    mark(tmp_path / "other" / "tags", digest="another tagger")
    assert not marked(save_tags(tmp_path, save_texts(tmp_path), tagged=StoredRows(tmp_path, "other/tags")))


def test_damaged_tags_are_not_taken(tmp_path):
    """A flipped byte in each page, past the header that says how it is laid out."""
    save_tags(tmp_path / "other", save_texts(tmp_path / "other"))
    mark(tmp_path / "other" / "tags")
    damaged = 0
    for path in (tmp_path / "other" / "tags").glob("*.parquet"):
        content = bytearray(path.read_bytes())
        group = pq.ParquetFile(path).metadata
        for column in range(group.num_columns) if group.num_row_groups and group.num_rows else ():
            chunk = group.row_group(0).column(column)
            content[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 255
            damaged += 1
        path.write_bytes(content)
    assert damaged
    assert not marked(save_tags(tmp_path, save_texts(tmp_path), tagged=StoredRows(tmp_path, "other/tags")))


@pytest.mark.parametrize("change", [{"lowercase_before_tagging": True}, {"tagset": "extended"}])
def test_other_settings_tag_everything_anew(tmp_path, change):
    texts = save_texts(tmp_path)
    save_tags(tmp_path, texts)
    before = written(tmp_path / "tags")
    save_tags(tmp_path, texts, LEXICON.model_copy(update=change))
    assert rewritten(before, written(tmp_path / "tags")) == set(before)


def test_many_workers_write_what_one_writes(tmp_path):
    long_texts = {f"The {n}th captain {'sailed on to Norway ' * 100}": "option" for n in range(60)}
    texts = save_texts(tmp_path, long_texts)
    serial, parallel = (
        dict(
            tag(texts.load(), NOTHING, LEXICON, BENCHMARK.model_copy(update={"workers": workers})).make(
                ["0000-of-0004", "0001-of-0004"]
            )
        )
        for workers in (1, 2)
    )
    assert serial.keys() == parallel.keys() == {"0000-of-0004", "0001-of-0004"}
    assert all(serial[name].equals(parallel[name]) for name in serial)


def test_the_pipeline_is_one_node_of_the_benchmark():
    pipeline = Pipeline(tagging.create_nodes("dream", "nltk_penn"))
    assert [node.name for node in pipeline.nodes] == ["dream.tag_nltk_penn"]
    parameters = {"params:taggings.nltk_penn", "params:benchmarks.dream", "params:engine"}
    assert pipeline.inputs() == {"dream.texts", "tagged_before"} | parameters
    assert pipeline.outputs() == {"dream.nltk_penn.tags"}
    assert pipeline.nodes[0].namespace == "dream"


def test_the_pipeline_runs_over_a_catalog(tmp_path):
    texts = save_texts(tmp_path)
    stored = save_tags(tmp_path, texts)
    catalog = DataCatalog(
        {
            "tiny.texts": texts,
            "tagged_before": StoredRowsDataset(filepath=str(tmp_path), pattern="*"),
            "params:taggings.lexicon": MemoryDataset(LEXICON),
            "params:benchmarks.tiny": MemoryDataset(BENCHMARK),
            "params:engine": MemoryDataset(LOCAL),
            "tiny.lexicon.tags": stored,
        }
    )
    before = rows(stored)
    SequentialRunner().run(Pipeline(tagging.create_nodes("tiny", "lexicon")), catalog)
    assert rows(stored) == before


def test_a_tagger_that_cannot_be_had_leaves_nothing_that_looks_finished(tmp_path, monkeypatch):
    texts = save_texts(tmp_path)
    folder = tmp_path / "nltk_data"
    (folder / "tokenizers/punkt_tab/english").mkdir(parents=True)
    (folder / "taggers/averaged_perceptron_tagger_eng").mkdir(parents=True)
    monkeypatch.setenv("NLTK_DATA", str(folder))
    with pytest.raises(DatasetError, match="is not whole"):
        save_tags(tmp_path, texts, TaggingParameters(tagger="nltk"))
    with pytest.raises(CoattendError, match="is not finished"):
        ShardedTableDataset(filepath=str(tmp_path / "tags")).load()


def test_the_stages_import_neither_torch_nor_transformers(tmp_path):
    code = """
    import sys
    from pathlib import Path
    from stored_texts import BENCHMARK, save_tags, save_texts
    from coattend.config import TokenizerParameters
    from coattend.pipelines.tokenization.nodes import tokenize
    texts = save_texts(Path(sys.argv[1]))
    tags = save_tags(Path(sys.argv[1]), texts)
    tables = dict(tokenize(texts.load(), tags.load(), TokenizerParameters(), BENCHMARK).make(["0000-of-0004"]))
    print(sorted(tables), [name for name in ("torch", "transformers", "mlflow") if name in sys.modules])
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    completed = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, env=environment)
    assert completed.stdout.strip() == "['0000-of-0004'] []", completed.stderr
