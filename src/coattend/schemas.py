"""The Arrow schema of every table. An *offset* counts Unicode code points from the start of the text; ``ends`` are
exclusive."""

from typing import TypedDict

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

TEXT, FLAG = pa.string(), pa.bool_()
TINY_INT, SMALL_INT, INT = pa.int8(), pa.int16(), pa.int32()
FLOAT, DOUBLE = pa.float32(), pa.float64()
CATEGORY = pa.dictionary(INT, TEXT)
"""Texts of which a column has few distinct ones."""
_ANSWER = pa.struct([("text", TEXT), ("start", INT)])
_EVIDENCE = pa.struct([("text", TEXT), ("start", INT), ("end", INT), ("weight", DOUBLE)])


def _optional(data_type: pa.DataType) -> pa.Field:
    return pa.field("", data_type)


def _schema(**columns: pa.DataType | pa.Field) -> pa.Schema:
    """Build a schema of columns without nulls, but for those marked as optional."""
    fields = (
        column.with_name(name) if isinstance(column, pa.Field) else pa.field(name, column, nullable=False)
        for name, column in columns.items()
    )
    return pa.schema(fields)


PASSAGES = _schema(passage_id=TEXT, text=TEXT, turns=_optional(pa.list_(TEXT)), source=TEXT)
QUESTIONS = _schema(
    question_id=TEXT,
    passage_id=TEXT,
    group=TEXT,
    split=CATEGORY,
    subset=_optional(CATEGORY),
    task=CATEGORY,
    question=TEXT,
    options=_optional(pa.list_(TEXT)),
    label=_optional(SMALL_INT),
    answers=_optional(pa.list_(_ANSWER)),
    answerable=FLAG,
    question_types=_optional(pa.list_(TEXT)),
)
"""Questions whose passages overlap share a ``group``, which is held out as a whole, and one unit of intervals."""

REJECTED = _schema(file=TEXT, record=TEXT, reason=TEXT)
"""Records of raw files that are left out, or questions that a reader could not be given: then the file is
`TRAINED_QUESTIONS` or `SCORED_QUESTIONS`."""
TRAINED_QUESTIONS, SCORED_QUESTIONS = "{benchmark}, training", "{benchmark}, scored"
TEXTS = _schema(text_id=TEXT, kind=CATEGORY, text=TEXT)
TAGS = _schema(text_id=TEXT, words=pa.list_(TEXT), tags=pa.list_(TINY_INT), starts=pa.list_(INT), ends=pa.list_(INT))
TOKENS = _schema(
    text_id=TEXT,
    input_ids=pa.list_(INT),
    tag_ids=pa.list_(TINY_INT),
    word_index=pa.list_(INT),
    starts=pa.list_(INT),
    ends=pa.list_(INT),
)
PREDICTIONS = _schema(
    question_id=TEXT,
    trial_id=TEXT,
    seed=INT,
    prediction=TEXT,
    label=_optional(SMALL_INT),
    scores=_optional(pa.list_(FLOAT)),
    start=_optional(INT),
    end=_optional(INT),
    null_score=_optional(FLOAT),
    correct=FLAG,
    f1=FLOAT,
)
"""``scores`` are those of all options or candidates; of a span two, its probability and that of "no answer"."""

PROFILE = _schema(section=TEXT, split=TEXT, subset=TEXT, name=TEXT, value=DOUBLE, published=_optional(DOUBLE))

ATTENTION = _schema(
    question_id=TEXT,
    trial_id=TEXT,
    sequence=SMALL_INT,
    map=CATEGORY,
    domain=CATEGORY,
    token=INT,
    text=TEXT,
    start=_optional(INT),
    end=_optional(INT),
    values=pa.list_(FLOAT),
)
"""A row for each token of a sequence (an option, or a window of the passage) in each map; ``values`` are those of its
turns, heads or layers. Special tokens have no ``start``; offsets count in the text of the ``domain``: the passage, the
question or its option."""

STUDY_ROWS = _schema(
    benchmark=TEXT,
    split=TEXT,
    group=TEXT,
    metric=TEXT,
    variant=TEXT,
    title=TEXT,
    encoder=_optional(TEXT),
    questions=INT,
    trials=INT,
    selection=TEXT,
    mean=DOUBLE,
    low=_optional(DOUBLE),
    high=_optional(DOUBLE),
    spread=_optional(DOUBLE),
    baseline=_optional(TEXT),
    difference=_optional(DOUBLE),
    difference_low=_optional(DOUBLE),
    difference_high=_optional(DOUBLE),
    p=_optional(DOUBLE),
    p_corrected=_optional(DOUBLE),
    verdict=_optional(TEXT),
    printed=_optional(DOUBLE),
    printed_encoder=_optional(TEXT),
    printed_all=_optional(TEXT),
)
"""A row for each variant, benchmark, split, group and metric. ``printed`` is the paper's number for a single model with
``printed_encoder``; ``printed_all`` has all of its numbers with their models, such as ``71.8 (ALBERT-base); 78.9
(ALBERT-base, ensemble)``. ``selection`` says where checkpoints were chosen; on ``dev`` scores are too good."""

BREAKDOWNS = _schema(
    benchmark=TEXT,
    variant=TEXT,
    title=TEXT,
    split=TEXT,
    breakdown=TEXT,
    group=TEXT,
    questions=INT,
    metric=TEXT,
    mean=DOUBLE,
    low=_optional(DOUBLE),
    high=_optional(DOUBLE),
)

COMPARED = _schema(
    question_id=TEXT,
    passage_id=TEXT,
    group=TEXT,
    split=CATEGORY,
    subset=_optional(CATEGORY),
    question=TEXT,
    gold=pa.list_(TEXT),
    left_answer=_optional(TEXT),
    right_answer=_optional(TEXT),
    left_mark=FLOAT,
    right_mark=FLOAT,
    winner=CATEGORY,
)

ANSWERS = _schema(
    id=TEXT,
    place=TEXT,
    question=_optional(TEXT),
    answer=_optional(TEXT),
    label=_optional(SMALL_INT),
    start=_optional(INT),
    end=_optional(INT),
    choices=_optional(pa.list_(TEXT)),
    probabilities=_optional(pa.list_(DOUBLE)),
    null_score=_optional(DOUBLE),
    evidence=_optional(pa.list_(_EVIDENCE)),
    problem=_optional(TEXT),
)
"""A row for each row of a file of questions; ``place`` is its line or row there. ``probabilities`` are those of
``choices``: the options, or the likeliest spans or words. ``answer`` is empty for "no answer"; ``null_score`` is the
score of "no answer" less that of the best span. ``evidence`` are the tokens of the passage with most attention. If a
question cannot be answered, there is no answer but a ``problem``."""

HARNESS = _schema(
    question_id=TEXT,
    passage=TEXT,
    question=TEXT,
    options=_optional(pa.list_(TEXT)),
    label=_optional(SMALL_INT),
    answers=_optional(pa.list_(TEXT)),
    stem=TEXT,
    choices=_optional(pa.list_(TEXT)),
)
"""Questions as lm-evaluation-harness reads them: a language model is shown ``passage`` and ``stem``, and scores each of
the ``choices`` behind a space."""

SCHEMAS: dict[str, pa.Schema] = {
    "passages": PASSAGES,
    "questions": QUESTIONS,
    "rejected": REJECTED,
    "texts": TEXTS,
    "tags": TAGS,
    "tokens": TOKENS,
    "predictions": PREDICTIONS,
    "profile": PROFILE,
    "attention": ATTENTION,
    "study_rows": STUDY_ROWS,
    "breakdowns": BREAKDOWNS,
    "compared": COMPARED,
    "answers": ANSWERS,
    "harness": HARNESS,
}


class GoldAnswer(TypedDict):
    """A gold span in a row of questions."""

    text: str
    start: int


class PassageRow(TypedDict):
    """A row of passages, without its source."""

    passage_id: str
    text: str
    turns: list[str] | None


class QuestionRow(TypedDict):
    """A row of questions."""

    question_id: str
    passage_id: str
    group: str
    split: str
    subset: str | None
    task: str
    question: str
    options: list[str] | None
    label: int | None
    answers: list[GoldAnswer] | None
    answerable: bool
    question_types: list[str] | None


class PredictionRow(TypedDict):
    """A row of predictions."""

    question_id: str
    trial_id: str
    seed: int
    prediction: str
    label: int | None
    scores: list[float] | None
    start: int | None
    end: int | None
    null_score: float | None
    correct: bool
    f1: float


def read_passage_texts(passages: pads.Dataset, passage_ids: pa.ChunkedArray | None = None) -> dict[str, str]:
    """Map the ids of passages to their texts; of all passages, or of those with an id in a column."""
    selected = None if passage_ids is None else pc.field("passage_id").isin(pc.unique(passage_ids))
    table = passages.to_table(columns=["passage_id", "text"], filter=selected)
    return dict(zip(table["passage_id"].to_pylist(), table["text"].to_pylist(), strict=True))
