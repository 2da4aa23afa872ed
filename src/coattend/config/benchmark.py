"""Parameters of a benchmark: its files, its text, its tags and tokens, and how readers train on it."""

from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from coattend.config.base import Parameters
from coattend.config.training import RerankingParameters, TrainingParameters

Task = Literal["options", "span", "word"]
METRICS = {"options": ["accuracy"], "word": ["accuracy"], "span": ["exact", "f1"]}
"""The metrics of each task that readers are compared by, the one that leads last."""


PATH = r"(?:[^.\[\]]+|\[\d*\])(?:\.[^.\[\]]+|\[\d*\])*"
"""A path to values: keys behind dots, ``[]`` for each element of a list, ``[2]`` for one, counted from 0."""
FieldPath = Annotated[str, Field(pattern=f"^{PATH}$")]


class FieldParameters(Parameters):
    """Where the files of the format ``fields`` have a question's parts.

    A path is looked up in the question, and then in the objects and lists around it, from the innermost out.
    """

    file: Literal["json", "jsonl", "csv", "tsv", "parquet"] | None = Field(
        None, description="Form of the files; null: as their names end, before .gz."
    )
    header: bool = Field(
        True, description="Whether CSV and TSV begin with names; without them columns are [0], [1] ..."
    )
    questions: str = Field(
        "",
        pattern=f"^(?:{PATH})?$",
        description="Path to each question of a JSON file, as data[].paragraphs[].qas[], or of a line or row; empty: "
        "each element, line or row is one.",
    )
    skip: FieldPath | None = Field(None, description="Key of lines or elements that hold no question, such as header.")
    passage: FieldPath | None = Field(
        None, description="The passage; texts of a list are joined by line ends. null: the question is its own passage."
    )
    turns: bool = Field(False, description="Whether the texts of a passage are the turns of a dialogue.")
    question: FieldPath = Field(description="The question.")
    id: FieldPath | None = Field(
        None, description="Its id; one of what is around it gets the question's number. null: a hash of its texts."
    )
    id_prefix: str = Field("", description="Text before each id, where files number their questions alike.")
    subset: FieldPath | None = Field(None, description="Its subset.")
    blank: str | None = Field(None, min_length=1, description="Text in questions that stands for a blank.")
    options: FieldPath | tuple[FieldPath, ...] | None = Field(
        None, description="A path to all options, or a list with a path to each, of which the last may be empty."
    )
    option_keys: FieldPath | None = Field(None, description="The keys of the options, such as A to D.")
    answer: FieldPath | None = Field(None, description="The right answer, or a list of several.")
    answer_is: Literal["index", "number", "letter", "text", "key", "flags", "yes_no", "span"] = Field(
        description="How it names an option: index counts from 0, number from 1, flags are true or 1 at each right "
        "option; yes_no needs no options; or a span."
    )
    several: Literal["each"] | None = Field(
        None,
        description="Questions with several right options; each: one question for each of them, among the wrong "
        "options. null: they are left out and listed.",
    )
    start: FieldPath | None = Field(
        None, description="Where each answer starts, in characters; null: an answer must occur once in the passage."
    )
    end: FieldPath | None = Field(
        None, description="Its last character: the passage's own characters are then the answer."
    )
    impossible: FieldPath | None = Field(
        None, description="Whether the passage has no answer; null: where there are no answers."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> "FieldParameters":
        is_span, ends = self.answer_is == "span", self.start is not None and self.end is not None
        needs_options = not is_span and self.answer_is != "yes_no"
        if needs_options != (self.options is not None):
            needs = "needs options" if needs_options else "has no options"
            raise ValueError(f"answer_is: {self.answer_is} {needs}")
        if (self.answer_is == "key") != (self.option_keys is not None):
            raise ValueError("answer_is: key and option_keys need each other")
        if self.several and not needs_options:
            raise ValueError(f"several right options are impossible with answer_is: {self.answer_is}")
        if not is_span and (self.start or self.end or self.impossible):
            raise ValueError("start, end and impossible belong to answer_is: span")
        if self.end is not None and self.start is None:
            raise ValueError("end needs start")
        if self.answer is None and not ends:
            raise ValueError("answer is missing; only spans with start and end need none")
        if is_span and self.passage is None:
            raise ValueError("answer_is: span needs a passage")
        if self.turns and self.passage is None:
            raise ValueError("turns needs a passage")
        return self


class SourceParameters(Parameters):
    """One kind of raw file of a benchmark."""

    format: str = Field(description="Native format, such as dream or squad_parquet: see coattend.data.formats.")
    fields: FieldParameters | None = Field(None, description="Paths to the parts of questions, of the format fields.")
    folder: str = Field(description="Folder of the files, below the raw folder.")
    files: dict[str, list[str]] = Field(description="Split to file patterns inside the folder; one match is enough.")
    archives: list[str] = Field([], description="Archives whose members are matched where the folder has no files.")
    annotations: list[str] = Field([], description="Files with types of questions, as DREAM's annotators wrote them.")
    options: dict[str, Any] = Field({}, description="Options of the format, such as entities of cnn.")
    fallback: bool = Field(False, description="Whether it is used only for splits that no source before it has.")
    subset: str | None = Field(None, description="Subset name for questions whose format names none.")
    optional: bool = Field(False, description="Whether the source may be missing altogether.")

    @model_validator(mode="after")
    def _has_fields(self) -> "SourceParameters":
        if self.format == "fields" and self.fields is None:
            raise ValueError("format: fields needs the block `fields`, with the paths to the parts of questions")
        if self.format != "fields" and self.fields is not None:
            raise ValueError(f"the block `fields` needs format: fields, and the format is {self.format!r}")
        return self


class DownloadParameters(Parameters):
    """A file of a benchmark that can be fetched."""

    url: str = Field(pattern="^https?://", description="Where it is published.")
    file: str = Field(description="Where it shall lie, below the raw folder.")
    sha256: str | None = Field(None, pattern="^[0-9a-f]{64}$", description="Its digest; null: not known.")

    @field_validator("file")
    @classmethod
    def _inside(cls, file: str) -> str:
        if PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts:
            raise ValueError("file must lie below the raw folder")
        return file


class BookParameters(Parameters):
    """Cloze questions that are made from books."""

    folder: str = Field("books", description="Folder of the books, below the raw folder.")
    files: list[str] = Field(["*.txt"], min_length=1, description="File patterns inside the folder.")
    dev: float = Field(0.1, gt=0, lt=1, description="Share of the books whose questions are dev; at least one book.")
    test: float = Field(0.1, ge=0, lt=1, description="Share of the books whose questions are test.")
    step: int = Field(5, ge=1, description="Sentences from one passage to the next; with 21 none is used twice.")
    seed: int = Field(0, description="The same seed draws the same questions from the same books.")

    @model_validator(mode="after")
    def _leaves_train(self) -> "BookParameters":
        if self.dev + self.test >= 1:
            raise ValueError("dev and test together must leave books to train on")
        return self


class BenchmarkParameters(Parameters):
    """A benchmark: where its files are, how its text is processed, how readers train on it."""

    name: str = Field("", description="Name of this entry; filled in from the entry's key.")
    title: str = Field(description="Name as the literature writes it.")
    version: int = Field(
        1, ge=1, description="Raised when reading, grouping or scoring changes: scores of two versions do not compare."
    )
    tasks: tuple[Task, ...] = Field(min_length=1, description="What its questions ask for.")
    sources: tuple[SourceParameters, ...] = Field(min_length=1, description="Its raw files.")
    readers: tuple[str, ...] | None = Field(
        None, description="Readers that have nodes on it; null: all that have a head for one of its tasks."
    )
    trained_on: str | None = Field(
        None, description="Benchmark whose trained readers are scored on this one; null: its own."
    )
    language: str = Field("en", description="Code of the language of its texts, for cards of shared readers.")
    encoder: str | None = Field(
        None, description="Encoder profile of its readers whose entries name none; null: as `readers` has it."
    )
    tagging: str | None = Field(
        None, description="Tagging profile of its readers whose entries name none; null: as `readers` has it."
    )
    published_at: str = Field("", description="Where its files are published; shown when they are missing.")
    published: dict[str, dict[str, float]] = Field(
        {}, description="Published numbers: a split, split/subset or overview to names and values of the profile."
    )
    downloads: tuple[DownloadParameters, ...] = Field((), description="Its files that can be fetched.")
    licence: str = Field("", description="Licence note of the data.")
    hub: str = Field("", description="Its name on the Hugging Face Hub, which cards of shared readers link to.")
    generator: dict[str, Any] | None = Field(
        None, description="Settings of the sample's generator; null for real data."
    )
    books: BookParameters | None = Field(
        None, description="Books that its questions are made from; null: they are not made from books."
    )
    fill_blanks: bool = Field(False, description="Whether an option fills the question's blank, or stands behind it.")
    submission: Literal["squad", "recam"] | None = Field(
        None, description="Form in which its own scorer reads predictions; null: it has none."
    )
    scorer: Literal["squad", "cmrc"] = Field(
        "squad", description="How spans are scored: by words, as SQuAD's, or by Chinese characters, as CMRC 2018's."
    )
    words_as_options: bool = Field(
        False, description="Whether readers of options answer its words: each candidate filled into the blank."
    )
    drop_asked: bool = Field(
        False, description="Whether training questions that are asked in another split too are left out."
    )
    train_from_dev: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="Share of the dev questions, in whole groups, that are trained on where no file has training "
        "questions; null: none.",
    )
    scored: float = Field(
        1.0, gt=0, le=1, description="Share of the questions of other splits than train that are asked, by their ids."
    )
    shards: int | None = Field(
        None,
        ge=1,
        le=4096,
        description="In how many files its texts, tags and tokens are kept; null: as suits its size.",
    )
    workers: int | None = Field(None, ge=1, description="Processes that tag and tokenise; null: one a core.")
    max_characters: int = Field(100_000, ge=100, description="Longer texts are rejected and listed.")
    training: TrainingParameters = Field(TrainingParameters(), description="How readers train on it.")
    recurrent: dict[str, Any] = Field(
        {}, description="Differences from `training` for readers with a recurrent encoder, whose tokens are words."
    )
    frozen: dict[str, Any] = Field(
        {"learning_rate": 5e-4},
        description="Differences from `training` where the encoder stays frozen: what is new takes a larger rate.",
    )
    reranking: RerankingParameters = Field(RerankingParameters(), description="How cloze answers are ranked again.")

    @property
    def is_written(self) -> bool:
        """True if this project writes its raw files itself."""
        return self.generator is not None or self.books is not None

    @property
    def is_simulated(self) -> bool:
        """True if its texts are about a simulated world: its scores show that readers work, and rank none."""
        return self.generator is not None

    @property
    def subsets(self) -> frozenset[str]:
        """Names of its subsets as far as its file says them; none where only its questions do."""
        published = {split.partition("/")[2] for split in self.published} - {""}
        of_sources = {source.subset for source in self.sources if source.subset is not None}
        # The names are all known if published numbers have them, or if every source names its own.
        complete = published or all(source.subset is not None for source in self.sources)
        return frozenset(published | of_sources) if complete else frozenset()

    @property
    def answerable(self) -> tuple[str, ...]:
        """The tasks of the heads that can answer its questions."""
        as_options = "word" in self.tasks and self.words_as_options
        return (*self.tasks, "options") if as_options and "options" not in self.tasks else self.tasks


class TaggingParameters(Parameters):
    """A profile of word tokens and POS tags."""

    tagger: Literal["nltk", "textblob", "auto", "jieba"] = Field(
        "auto",
        description="auto: NLTK's perceptron tagger, or textblob's lexicon where its data cannot be had; jieba.",
    )
    tagset: Literal["penn", "extended", "jieba"] = Field(
        "penn", description="penn: 36 tags, punctuation is ERR; extended: punctuation has its own tags; jieba: its own."
    )
    lowercase_before_tagging: bool = Field(False, description="As the POI-Net release does; it loses proper nouns.")

    @model_validator(mode="after")
    def _tagset_of_tagger(self) -> "TaggingParameters":
        if (self.tagger == "jieba") != (self.tagset == "jieba"):
            raise ValueError("tagger: jieba and tagset: jieba need each other")
        return self


class TokenizerParameters(Parameters):
    """A profile of subword tokens."""

    source: str = Field(
        "embedded", description="'embedded' (MiniLM), a folder, a Hugging Face name, or 'characters': each is a token."
    )
