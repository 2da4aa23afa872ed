"""The Arrow schema of every table, in one place.

Legend: an *offset* counts Unicode code points from the start of the text, ``ends`` are exclusive.
"""

import pyarrow as pa

_CATEGORY = pa.dictionary(pa.int32(), pa.string())
_ANSWER = pa.struct([("text", pa.string()), ("start", pa.int32())])

PASSAGES = pa.schema(
    [
        pa.field("passage_id", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("turns", pa.list_(pa.string())),
        pa.field("source", pa.string(), nullable=False),
    ]
)
QUESTIONS = pa.schema(
    [
        pa.field("question_id", pa.string(), nullable=False),
        pa.field("passage_id", pa.string(), nullable=False),
        pa.field("split", _CATEGORY, nullable=False),
        pa.field("subset", _CATEGORY),
        pa.field("task", _CATEGORY, nullable=False),
        pa.field("question", pa.string(), nullable=False),
        pa.field("options", pa.list_(pa.string())),
        pa.field("label", pa.int16()),
        pa.field("answers", pa.list_(_ANSWER)),
        pa.field("answerable", pa.bool_(), nullable=False),
        pa.field("question_types", pa.list_(pa.string())),
    ]
)
REJECTED = pa.schema(
    [
        pa.field("file", pa.string(), nullable=False),
        pa.field("record", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
    ]
)
TEXTS = pa.schema(
    [
        pa.field("text_id", pa.string(), nullable=False),
        pa.field("kind", _CATEGORY, nullable=False),
        pa.field("text", pa.string(), nullable=False),
    ]
)
TAGS = pa.schema(
    [
        pa.field("text_id", pa.string(), nullable=False),
        pa.field("words", pa.list_(pa.string()), nullable=False),
        pa.field("tags", pa.list_(pa.int8()), nullable=False),
        pa.field("starts", pa.list_(pa.int32()), nullable=False),
        pa.field("ends", pa.list_(pa.int32()), nullable=False),
    ]
)
TOKENS = pa.schema(
    [
        pa.field("text_id", pa.string(), nullable=False),
        pa.field("input_ids", pa.list_(pa.int32()), nullable=False),
        pa.field("tag_ids", pa.list_(pa.int8()), nullable=False),
        pa.field("word_index", pa.list_(pa.int32()), nullable=False),
        pa.field("starts", pa.list_(pa.int32()), nullable=False),
        pa.field("ends", pa.list_(pa.int32()), nullable=False),
    ]
)
PREDICTIONS = pa.schema(
    [
        pa.field("question_id", pa.string(), nullable=False),
        pa.field("trial_id", pa.string(), nullable=False),
        pa.field("seed", pa.int32(), nullable=False),
        pa.field("prediction", pa.string(), nullable=False),
        pa.field("label", pa.int16()),
        pa.field("scores", pa.list_(pa.float32())),
        pa.field("start", pa.int32()),
        pa.field("end", pa.int32()),
        pa.field("null_score", pa.float32()),
        pa.field("correct", pa.bool_(), nullable=False),
        pa.field("f1", pa.float32(), nullable=False),
    ]
)
"""``scores`` are those of all options or candidates; of a span two, its probability and that of "no answer"."""

PROFILE = pa.schema(
    [
        pa.field("section", pa.string(), nullable=False),
        pa.field("split", pa.string(), nullable=False),
        pa.field("subset", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("published", pa.float64()),
    ]
)

ATTENTION = pa.schema(
    [
        pa.field("question_id", pa.string(), nullable=False),
        pa.field("trial_id", pa.string(), nullable=False),
        pa.field("sequence", pa.int16(), nullable=False),
        pa.field("map", _CATEGORY, nullable=False),
        pa.field("domain", _CATEGORY, nullable=False),
        pa.field("token", pa.int32(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("start", pa.int32()),
        pa.field("end", pa.int32()),
        pa.field("values", pa.list_(pa.float32()), nullable=False),
    ]
)
"""A row for each token of a sequence (an option, or a window of the passage) in each map; ``values`` are those of its
turns, heads or layers. Special tokens have no ``start``; offsets count in the text of the ``domain``: the passage, the
question or its option."""

STUDY_ROWS = pa.schema(
    [
        pa.field("benchmark", pa.string(), nullable=False),
        pa.field("split", pa.string(), nullable=False),
        pa.field("group", pa.string(), nullable=False),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("variant", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("encoder", pa.string()),
        pa.field("questions", pa.int32(), nullable=False),
        pa.field("trials", pa.int32(), nullable=False),
        pa.field("mean", pa.float64(), nullable=False),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("spread", pa.float64()),
        pa.field("baseline", pa.string()),
        pa.field("difference", pa.float64()),
        pa.field("difference_low", pa.float64()),
        pa.field("difference_high", pa.float64()),
        pa.field("p", pa.float64()),
        pa.field("p_corrected", pa.float64()),
        pa.field("verdict", pa.string()),
        pa.field("printed", pa.float64()),
        pa.field("printed_encoder", pa.string()),
        pa.field("printed_all", pa.string()),
    ]
)
"""A row for each variant, benchmark, split, group and metric. ``printed`` is the paper's number, of
``printed_encoder`` and of no ensemble; ``printed_all`` has all that it prints there, with whose they are, such as
``71.8 (ALBERT-base); 78.9 (ALBERT-base, ensemble)``."""

BREAKDOWNS = pa.schema(
    [
        pa.field("benchmark", pa.string(), nullable=False),
        pa.field("variant", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("split", pa.string(), nullable=False),
        pa.field("breakdown", pa.string(), nullable=False),
        pa.field("group", pa.string(), nullable=False),
        pa.field("questions", pa.int32(), nullable=False),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("mean", pa.float64(), nullable=False),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
    ]
)

COMPARED = pa.schema(
    [
        pa.field("question_id", pa.string(), nullable=False),
        pa.field("passage_id", pa.string(), nullable=False),
        pa.field("split", _CATEGORY, nullable=False),
        pa.field("subset", _CATEGORY),
        pa.field("question", pa.string(), nullable=False),
        pa.field("gold", pa.list_(pa.string()), nullable=False),
        pa.field("left_answer", pa.string()),
        pa.field("right_answer", pa.string()),
        pa.field("left_mark", pa.float32(), nullable=False),
        pa.field("right_mark", pa.float32(), nullable=False),
        pa.field("winner", _CATEGORY, nullable=False),
    ]
)

ANSWERS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("place", pa.string(), nullable=False),
        pa.field("question", pa.string()),
        pa.field("answer", pa.string()),
        pa.field("label", pa.int16()),
        pa.field("start", pa.int32()),
        pa.field("end", pa.int32()),
        pa.field("choices", pa.list_(pa.string())),
        pa.field("probabilities", pa.list_(pa.float64())),
        pa.field("null_score", pa.float64()),
        pa.field(
            "evidence",
            pa.list_(
                pa.struct([("text", pa.string()), ("start", pa.int32()), ("end", pa.int32()), ("weight", pa.float64())])
            ),
        ),
        pa.field("problem", pa.string()),
    ]
)
"""A row for each row of a file of questions; ``place`` is its line or row there. ``probabilities`` are those of
``choices``: the options, or the likeliest spans or words. ``answer`` is empty for "no answer", which ``null_score``
speaks for: its score less that of the best span. ``evidence`` are the tokens of the passage that were looked at most.
Where a question cannot be answered ``problem`` says why, and there is no answer."""

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
}
