"""Names for the annotations of nodes: types whose modules are too slow to import with the pipelines.

Kedro resolves the annotations of every node's function to validate typed parameters. One name that does not exist at
run time silently turns validation off for the whole function, so the modules of nodes must not import annotations under
``TYPE_CHECKING`` themselves. Importing pyarrow.dataset for its name alone, and pandas with it, would cost every command
0.4 s. Here a type checker sees the types, and Kedro sees ``Any``. Nodes import the types of parameters as they are.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyarrow import Table
    from pyarrow.dataset import Dataset, ParquetFileFragment
    from pyarrow.parquet import FileMetaData

    from coattend.data.book_cloze import TaggedSentence
    from coattend.data.generated_files import Manifest
    from coattend.io.checked import TablePlan
    from coattend.io.sharded import ShardPlan
    from coattend.io.table_store import StoredAnswers, StoredFindings, StoredRows, StoredTables
    from coattend.text.tagging import Tagger, TextTagger
    from coattend.text.tokenizer import SubwordTokenizer
    from coattend.training.study_variant import Variant
else:
    DataFrame = Table = Dataset = ParquetFileFragment = FileMetaData = Any
    Manifest = ShardPlan = StoredAnswers = StoredFindings = StoredRows = StoredTables = TablePlan = Any
    SubwordTokenizer = TaggedSentence = Tagger = TextTagger = Variant = Any

__all__ = [
    "DataFrame",
    "Dataset",
    "FileMetaData",
    "Manifest",
    "ParquetFileFragment",
    "ShardPlan",
    "StoredAnswers",
    "StoredFindings",
    "StoredRows",
    "StoredTables",
    "SubwordTokenizer",
    "Table",
    "TablePlan",
    "TaggedSentence",
    "Tagger",
    "TextTagger",
    "Variant",
]
