"""Tables of the columns of every table, with their types."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import yaml
from docs._tools.markdown import table

from coattend.errors import CoattendError, did_you_mean
from coattend.schemas import SCHEMAS

DESCRIPTIONS = Path(__file__).with_name("columns.yml")
NAMES = {
    pa.string(): "text",
    pa.bool_(): "true or false",
    pa.int8(): "8-bit integer",
    pa.int16(): "16-bit integer",
    pa.int32(): "32-bit integer",
    pa.float32(): "32-bit float",
    pa.float64(): "64-bit float",
}


def column_table(name: str) -> str:
    """Write the table of a table's columns.

    Args:
        name: Name of the table, such as ``questions``.

    Raises:
        CoattendError: If there is no such table, or its columns are not those with a sentence.
    """
    if name not in SCHEMAS:
        cure = did_you_mean(name, list(SCHEMAS))
        raise CoattendError(f"there is no table {name!r}", where="documentation", cure=cure)
    schema, sentences = SCHEMAS[name], descriptions()[name]
    if schema.names != list(sentences):
        differing = sorted(set(schema.names) ^ set(sentences)) or "their order"
        raise CoattendError(f"columns of {name!r} without a sentence, or the other way round: {differing}",
                            where="documentation", cure=f"Mend {DESCRIPTIONS.name}.")  # fmt: skip
    rows = (
        (f"`{field.name}`", _type_name(field.type), "yes" if field.nullable else "", sentences[field.name])
        for field in schema
    )
    return table(("column", "type", "may be null", "what it holds"), rows)


def descriptions() -> Mapping[str, Mapping[str, str]]:
    """Read the sentences: table to column to sentence."""
    sentences: Mapping[str, Mapping[str, str]] = yaml.safe_load(DESCRIPTIONS.read_text(encoding="utf-8"))
    return sentences


def _type_name(data_type: pa.DataType) -> str:
    if pa.types.is_list(data_type):
        return f"list of {_type_name(data_type.value_type)}"
    if pa.types.is_struct(data_type):
        return f"({', '.join(f'{field.name}: {_type_name(field.type)}' for field in data_type)})"
    if pa.types.is_dictionary(data_type):
        return _type_name(data_type.value_type)
    return NAMES[data_type]
