"""The tiny sample's tables as training reads them."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

from coattend.parameters import BenchmarkParameters, EncoderParameters, ReaderParameters, TokenizerParameters
from coattend.text.subwords import SpecialLayout, load_tokenizer, special_layout
from coattend.training.examples import Example, Unreadable, build_examples
from coattend.training.layout import Layout
from coattend.training.plans import plan_of
from coattend.training.tokens import Tokens
from coattend.training.words import ONLY_WORDS, WITH_BOUNDARY, WordTokens

SAMPLE = {
    "name": "sample",
    "title": "Sample",
    "tasks": ["options"],
    "fill_blanks": True,
    "sources": [{"format": "dream", "folder": "x", "files": {}}],
}
TRAINING = {"epochs": 1, "evaluations": 1, "max_questions": 8, "held_out": 0.2, "tokens_per_batch": 512}


@dataclass(frozen=True)
class Read:
    """What a reader reads of the sample: subwords or words, with the special tokens of one task."""

    tokens: Tokens
    layout: SpecialLayout


@dataclass(frozen=True)
class Sample:
    """The tables in a folder."""

    folder: Path

    @cached_property
    def questions(self) -> pads.Dataset:
        return pads.dataset(self.folder / "02_intermediate/sample/questions.parquet")

    @cached_property
    def passages(self) -> pads.Dataset:
        return pads.dataset(self.folder / "02_intermediate/sample/passages.parquet")

    @cached_property
    def texts(self) -> dict[str, str]:
        """Every text by its id."""
        table = pads.dataset(self.folder / "03_primary/sample/texts").to_table(columns=["text_id", "text"])
        return dict(zip(table.column("text_id").to_pylist(), table.column("text").to_pylist(), strict=True))

    @cached_property
    def tags(self) -> pads.Dataset:
        return pads.dataset(self.folder / "04_feature/sample/nltk_penn/tags", format="parquet")

    @cached_property
    def stored_tokens(self) -> pads.Dataset:
        return pads.dataset(self.folder / "05_model_input/sample/nltk_penn/minilm/tokens", format="parquet")

    @cached_property
    def words(self) -> WordTokens:
        return WordTokens.from_tags(self.tags)

    @cached_property
    def subwords(self) -> Tokens:
        return Tokens.from_table(self.stored_tokens, of_words=True)

    @cached_property
    def special_tokens(self) -> SpecialLayout:
        return special_layout(load_tokenizer(TokenizerParameters()))

    def read(self, kind: str, task: str) -> Read:
        """Subwords or words as a task's readers are given them."""
        if kind == "subwords":
            return Read(self.subwords, self.special_tokens)
        return Read(self.words, WITH_BOUNDARY if task == "span" else ONLY_WORDS)

    def rows(self, task: str, split: str | None = None) -> pa.Table:
        """Questions of a task."""
        wanted = pc.field("task").cast(pa.string()) == task
        if split is not None:
            wanted &= pc.field("split").cast(pa.string()) == split
        return self.questions.to_table(filter=wanted)

    def passage_of(self, questions: pa.Table) -> dict[str, str]:
        """The text of each question's passage by the question's id."""
        table = self.passages.to_table(columns=["passage_id", "text"])
        texts = dict(zip(table.column("passage_id").to_pylist(), table.column("text").to_pylist(), strict=True))
        return {row["question_id"]: texts[row["passage_id"]] for row in questions.to_pylist()}

    def build(
        self, questions: pa.Table, read: Read, max_length: int = 256, **how: object
    ) -> tuple[list[Example], list[Unreadable]]:
        """Examples of questions, whose options fill blanks."""
        layout = Layout(max_length=max_length, special_tokens=read.layout.count, fill_blanks=True, **how)
        return build_examples(questions, self.passages, read.tokens, layout)


@pytest.fixture(scope="session")
def sample(sample_tables) -> Sample:
    return Sample(sample_tables)


@pytest.fixture(scope="session")
def plan_for(sample):
    """A reader on a few questions of the sample."""

    def make(reader="plain", **training):
        benchmark = BenchmarkParameters(**SAMPLE, training=TRAINING | training)
        entry = ReaderParameters(name=reader, reader=reader, training={"seeds": [3, 4]})
        tables = sample.questions, sample.passages, sample.stored_tokens, None
        return plan_of(*tables, benchmark, entry, EncoderParameters(), TokenizerParameters())

    return make
