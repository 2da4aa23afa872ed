"""Readers: an encoder, an interaction and a head. Nothing here imports torch before a reader is built."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coattend.errors import CoattendError
from coattend.readers.composition import (
    Capability,
    capabilities,
    check_option,
    completed,
    default_of,
    option_names,
    resolve,
)
from coattend.readers.drawing import architecture
from coattend.readers.interfaces import NamedReader
from coattend.readers.registry import encoder_of, fits, head_for, heads_of, is_trained, names, task_of
from coattend.readers.source_code import code_digest, sources

if TYPE_CHECKING:
    from transformers import PretrainedConfig

    from coattend.readers.encoders.word_embeddings import Words
    from coattend.readers.reader import Reader

__all__ = [
    "Capability",
    "NamedReader",
    "architecture",
    "build",
    "capabilities",
    "check_option",
    "code_digest",
    "completed",
    "default_of",
    "encoder_of",
    "fits",
    "head_for",
    "heads_of",
    "is_trained",
    "names",
    "option_names",
    "resolve",
    "sources",
    "task_of",
]


def build(
    name: str,
    *,
    encoder: "Words | str | Path | PretrainedConfig | Mapping[str, Any]",
    head: str | None = None,
    **overrides: Any,
) -> "Reader":
    """Build a reader, in evaluation mode.

    Args:
        name: A name out of `names`, or an encoder and an interaction, such as ``"recurrent+coattention"``.
        encoder: ``"embedded"`` (MiniLM), a folder, a Hugging Face name, or, for random weights, a configuration of
            ``transformers`` or the result of its ``to_dict``. A recurrent reader takes `Words`; with one of the others
            it reads that encoder's subwords, with its input embeddings as their vectors.
        head: ``"options"``, ``"span"`` ...; None takes the reader's default.
        overrides: Options that differ from the reader's defaults.

    Raises:
        CoattendError: If a name or a value is wrong, the parts do not fit together, or the encoder is not available.
    """
    from coattend.readers.reader import Reader

    if not is_trained(name):
        cure = "Load it with coattend.readers.encoders.language_model.LanguageModel.load"
        raise CoattendError(f"the reader {name!r} is a language model as it is, and cannot be built", cure=cure)
    return Reader.build(name, encoder=encoder, head=head, **overrides)
