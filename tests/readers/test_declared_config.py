"""Options of parts as they are written, beside those of the classes that are made of them."""

import inspect
from pathlib import Path

import pytest
from pydantic import ValidationError

from coattend import readers
from coattend.errors import CoattendError
from coattend.readers.assembly import assemble
from coattend.readers.declared_config import config

BARE = ("title", "description")

COMPUTED = {"dcn_plus_no_experts", "dcn_plus_no_mixed_objective", "dcn_plus_shallow_encoder"}
"""Readers that take their defaults from another one's."""


def told(model):
    """Types, bounds and defaults."""
    fields = model.model_json_schema().get("properties", {})
    return {name: {key: value for key, value in field.items() if key not in BARE} for name, field in fields.items()}


def parts():
    """Each part's file, and the class of its options."""
    for one in readers.capabilities():
        for part in assemble(one.reader, one.head, {}).classes:
            yield Path(inspect.getfile(part)), part.Config


def test_what_is_written_is_what_is_made_of_it():
    made = dict(parts())
    assert len(made) == 2 + 16 + 5
    for file, own in made.items():
        assert told(config(file)) == told(own), file.stem


@pytest.mark.parametrize("name", sorted({*readers.names()} - COMPUTED))
def test_options_are_completed_as_a_reader_is_built(name):
    for head in readers.heads_of(name):
        known = readers.completed(name, head, {})
        assert {option: value for option, value in known.items() if value is not None} == readers.resolve(name, head)


WRITTEN = """
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field

from coattend.readers.parts import InteractionConfig
from coattend.readers.recurrence import Cell as Kind
from elsewhere import Else

SMALL = Literal["few", "some"]


class Part(torch.nn.Module):
    class Config(InteractionConfig):
        together: ClassVar[bool] = True
        plain: int = 3
        bounded: float = Field(default=0.5, gt=0, lt=1)
        named: SMALL = Field("few")
        imported: Kind = Field("gru")
        nothing: SMALL | None = Field(None)
        computed: int = Field(2**4, ge=1, le=len("four"))
        called: int = abs(-3)
        elsewhere: Else = Field("what", ge=3)
        annotated: Annotated[int, "no type of ours"] | None = None
        needed: int
"""


@pytest.mark.parametrize("name", sorted(COMPUTED))
def test_defaults_that_are_computed_are_not_known(name):
    with pytest.raises(CoattendError, match="the argument 'defaults' of READER is computed"):
        readers.completed(name, "dynamic_span", {})


@pytest.fixture
def written(tmp_path):
    file = tmp_path / "part.py"
    file.write_text(WRITTEN)
    return config(file)


@pytest.mark.parametrize(
    "right",
    [
        {"plain": 1, "bounded": 0.1},
        {"named": "some", "imported": "lstm"},
        {"nothing": None},
        {"nothing": "few"},
        {"computed": 100},
        {"elsewhere": "anything"},
        {"annotated": "anything"},
    ],
)
def test_what_may_be_right_is_taken(written, right):
    assert right.items() <= dict(written.model_validate(right)).items()


@pytest.mark.parametrize(
    "wrong",
    [
        {"plain": "three"},
        {"bounded": 1},
        {"named": "fwe"},
        {"imported": "rnn"},
        {"nothing": "fwe"},
        {"computed": 0},
        {"needed": "much"},
        {"together": True},
    ],
)
def test_what_cannot_be_right_is_refused(written, wrong):
    with pytest.raises(ValidationError):
        written.model_validate(wrong)


def test_what_is_computed_is_not_known(written):
    assert dict(written()) == {
        "plain": 3,
        "bounded": 0.5,
        "named": "few",
        "imported": "gru",
        "nothing": None,
        "computed": None,
        "called": None,
        "elsewhere": "what",
        "annotated": None,
        "needed": None,
    }
