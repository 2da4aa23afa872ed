"""One table in one file: streamed, atomic, checked."""

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from kedro.io import DataCatalog, DatasetError
from kedro.validation import DataValidationError

from coattend.io.atomic import checksum_path
from coattend.io.checked import TableDataset, TablePlan
from coattend.io.local_dataset import DataError
from coattend.io.schema_validator import SchemaValidator
from coattend.schemas import SCHEMAS, TEXTS


def texts(*names):
    rows = [{"text_id": name, "kind": "passage", "text": f"text of {name}"} for name in names]
    return pa.Table.from_pylist(rows, schema=TEXTS)


@pytest.fixture
def dataset(tmp_path):
    return TableDataset(filepath=str(tmp_path / "texts.parquet"), table="texts")


def test_a_stream_comes_back_as_one_lazy_table(dataset):
    dataset.save(iter([texts("a"), texts("b", "c")]))
    loaded = dataset.load()
    assert isinstance(loaded, pads.Dataset)
    assert loaded.to_table()["text_id"].to_pylist() == ["a", "b", "c"]
    assert loaded.schema.field("kind").type == TEXTS.field("kind").type


def test_an_empty_stream_has_its_columns(subtests, tmp_path):
    for name in SCHEMAS:
        with subtests.test(name=name):
            dataset = TableDataset(filepath=str(tmp_path / "empty.parquet"), table=name)
            dataset.save(iter(()))
            loaded = dataset.load()
            assert loaded.count_rows() == 0
            assert SchemaValidator(table=name).validate(loaded) is loaded


def test_a_stream_that_breaks_leaves_nothing(dataset, tmp_path):
    def broken():
        yield texts("a")
        raise RuntimeError("the source broke")

    with pytest.raises(DatasetError, match="the source broke"):
        dataset.save(broken())
    assert list(tmp_path.iterdir()) == []
    assert not dataset.exists()


def test_a_broken_stream_keeps_the_table_that_was_there(dataset):
    dataset.save(texts("old"))
    with pytest.raises(DatasetError):
        dataset.save(texts("new") if number == 0 else 1 / 0 for number in range(2))
    assert dataset.load().to_table()["text_id"].to_pylist() == ["old"]


def test_a_missing_table_is_told_unless_it_is_optional(dataset, tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        dataset.load()
    optional = TableDataset(filepath=str(tmp_path / "texts.parquet"), table="texts", optional=True)
    assert optional.load() is None
    assert not optional.exists()


def test_a_truncated_file_is_told(dataset, tmp_path):
    dataset.save(texts("a", "b"))
    path = tmp_path / "texts.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="is not the file that was written"):
        dataset.load()
    checksum_path(path).unlink()
    with pytest.raises(DataError, match="is not a whole Parquet file"):
        dataset.load()


def test_the_preview_shows_lists_as_text(tmp_path):
    dataset = TableDataset(filepath=str(tmp_path / "q.parquet"), table="questions")
    row = {"question_id": "q", "passage_id": "p", "group": "g", "split": "dev", "task": "options", "question": "?"}
    rows = [row | {"options": ["a", "b"], "answerable": True}] * 3
    dataset.save(pa.Table.from_pylist(rows, schema=SCHEMAS["questions"]))
    preview = dataset.preview(nrows=2)
    assert len(preview["data"]) == 2
    assert preview["data"][0][preview["columns"].index("options")] == "['a', 'b']"
    assert all(isinstance(cell, str) for line in preview["data"] for cell in line)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (texts("a").drop_columns(["text"]), "text: missing"),
        (texts("a").append_column("more", pa.array([1])), "more: not a column"),
        (texts("a").set_column(0, "text_id", pa.array([1])), "text_id: int64 instead of string"),
        (
            texts("a").set_column(2, TEXTS.field("text").with_nullable(True), pa.array([None], pa.string())),
            "text: nulls where none are allowed",
        ),
    ],
)
def test_the_catalog_refuses_a_table_of_another_shape(tmp_path, table, problem):
    catalog = DataCatalog.from_config(
        {
            "texts": {
                "type": "coattend.io.checked.TableDataset",
                "filepath": str(tmp_path / "texts.parquet"),
                "table": "texts",
                "validator": {"class": "coattend.io.schema_validator.SchemaValidator", "options": {"table": "texts"}},
            }
        }
    )
    with pytest.raises(DataValidationError, match=problem):
        catalog.save("texts", table)
    with pytest.raises(DatasetError):
        catalog.save("texts", iter([table]))
    assert not (tmp_path / "texts.parquet").exists()


def test_a_table_of_an_earlier_version_says_what_to_run(tmp_path):
    earlier = pa.schema([field for field in SCHEMAS["questions"] if field.name != "group"])
    pq.write_table(earlier.empty_table(), tmp_path / "questions.parquet")
    with pytest.raises(
        DataValidationError, match=r"(?s)column 'group'.*questions\.parquet.*kedro run --pipelines ingestion"
    ):
        SchemaValidator("questions").validate(pads.dataset(tmp_path / "questions.parquet"))


def test_an_absent_table_is_of_any_shape():
    assert SchemaValidator(table="texts").validate(None) is None


def test_a_table_that_is_not_there_yet_previews_as_its_columns(tmp_path):
    preview = TableDataset(filepath=str(tmp_path / "texts.parquet"), table="texts", optional=True).preview()
    assert (preview["columns"], preview["data"]) == (TEXTS.names, [])


def test_a_remote_address_is_refused_instead_of_becoming_a_folder():
    with pytest.raises(DatasetError, match="not a path on this machine"):
        TableDataset(filepath="s3://bucket/texts.parquet", table="texts")


def test_a_plan_is_carried_out_once(dataset, tmp_path):
    built = []

    def make(name):
        built.append(name)
        return [texts(name)]

    dataset.save(TablePlan("first", lambda: make("a")))
    dataset.save(TablePlan("first", lambda: make("b")))
    assert built == ["a"]
    dataset.save(TablePlan("second", lambda: make("c")))
    assert dataset.load().to_table() == texts("c")
    (tmp_path / "texts.parquet").write_bytes(b"damaged")
    dataset.save(TablePlan("second", lambda: make("d")))
    assert built == ["a", "c", "d"]


def test_a_plan_is_checked_while_it_is_drawn(dataset):
    plan = SchemaValidator(table="texts").validate(TablePlan("key", lambda: [texts("a").drop_columns(["text"])]))
    with pytest.raises((DataValidationError, DatasetError), match="text: missing"):
        dataset.save(plan)


def test_tables_by_name_are_checked_when_they_are_saved_and_when_they_are_opened(tmp_path):
    entry = {
        "type": "partitions.PartitionedDataset",
        "path": str(tmp_path),
        "filename_suffix": "/texts.parquet",
        "dataset": {"type": "coattend.io.checked.TableDataset", "table": "texts"},
    }
    checked = {"validator": {"class": "coattend.io.schema_validator.SchemaValidator", "options": {"table": "texts"}}}
    catalog = DataCatalog.from_config({"texts": entry | checked})
    with pytest.raises(DataValidationError, match="text: missing"):
        catalog.save("texts", {"one": texts("a").drop_columns(["text"])})
    catalog.save("texts", {"one": texts("a")})
    checksum_path(tmp_path / "one" / "texts.parquet").unlink()
    pq.write_table(texts("b").drop_columns(["text"]), tmp_path / "one" / "texts.parquet")
    opened = catalog.load("texts")
    with pytest.raises(DataValidationError, match="text: missing"):
        opened["one"]()
