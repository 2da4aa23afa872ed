"""A trained reader that answers questions: tokenizer, tagger and reader in one object."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import pyarrow as pa
import pyarrow.dataset as pads

from coattend.batches.dataset import QuestionSet, QuestionSource
from coattend.batches.examples import Layout, build_examples
from coattend.config import EncoderParameters, Limits
from coattend.errors import CoattendError
from coattend.inference.attention_maps import ForwardTrace, trace_forward
from coattend.inference.decoding import Answer, decode, option_probabilities, top_spans
from coattend.readers.reader import Reader
from coattend.schemas import QUESTIONS
from coattend.serving.evidence import EvidenceToken, most_attended_tokens
from coattend.serving.preprocessor import Preprocessor, QueryRow
from coattend.text.cloze import distinct_words, is_cloze
from coattend.trials import run_spec
from coattend.trials.build import build_collator
from coattend.trials.experiment import Experiment, TextPreparation
from coattend.trials.run_spec import RunSpec
from coattend.trials.trial import digest_of_files


class InvalidQuery(CoattendError):
    """A question that cannot be answered, and why."""


@dataclass(frozen=True)
class Query:
    """A question about a passage.

    Attributes:
        passage: The text.
        question: The question; a blank that an option fills is written ``_`` or ``@placeholder``.
        options: What can be chosen, if anything.
    """

    passage: str
    question: str
    options: tuple[str, ...] | None = None


def check_query(query: Query, limits: Limits) -> None:
    """Refuse what is empty, too long or too much.

    Raises:
        InvalidQuery: With what is wrong.
    """
    _check_text(query.passage, "the passage", limits.passage)
    _check_text(query.question, "the question", limits.question)
    if not any(map(str.isalnum, query.passage)):
        raise InvalidQuery("the passage has no words")
    if query.options is None:
        return
    _check_options(query.options, limits.options)
    for number, option in enumerate(query.options, 1):
        _check_text(option, f"option {number}", limits.option)


def _check_options(options: Sequence[str], max_options: int) -> None:
    if len(options) > max_options:
        raise InvalidQuery(f"has {len(options)} options, more than {max_options}")
    if len(options) < 2:
        raise InvalidQuery("has one option only" if options else "has no options")


def _check_text(text: str, label: str, max_characters: int) -> None:
    if not isinstance(text, str):
        raise InvalidQuery(f"{label} is no text")
    if len(text) > max_characters:
        raise InvalidQuery(f"{label} has {len(text):,} characters, more than {max_characters:,}")
    if not text.strip():
        raise InvalidQuery(f"{label} is empty")
    # JSON can escape half a surrogate pair, which UTF-8 cannot encode.
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidQuery(f"{label} holds half a surrogate pair at character {error.start}") from None


class PredictedChoice(TypedDict):
    """An answer with the choices that it was preferred to; the fields are those of `coattend.schemas.ANSWERS`."""

    answer: str | None
    label: int | None
    start: int | None
    end: int | None
    choices: list[str]
    probabilities: list[float]
    null_score: float | None


class PredictedAnswer(PredictedChoice):
    """An answer with its evidence."""

    evidence: list[EvidenceToken]


MAX_WORDS = 5
"""Number of words of the passage that are listed with their probabilities."""

_COLUMNS = ("question_id", "passage_id", "task", "question", "options", "label", "answers")


@dataclass(frozen=True)
class PreparedQueries:
    """Queries prepared as evaluation prepares questions.

    Attributes:
        experiment: Settings of the reader.
        asked: The questions.
    """

    experiment: Experiment
    asked: QuestionSet

    @classmethod
    def of(cls, rows: Sequence[QueryRow], processing: Preprocessor) -> "PreparedQueries":
        """Tokenise questions and build their examples.

        Args:
            rows: Rows of a questions table, each with its ``passage``.
            processing: What makes the reader's tokens of texts.
        """
        spec, texts_read = processing.spec, processing(rows)
        texts = {row["question_id"]: row["passage"] for row in rows}
        questions = pa.Table.from_pylist(list(rows), schema=pa.schema([QUESTIONS.field(name) for name in _COLUMNS]))
        passages = pads.dataset(pa.table({"passage_id": list(texts), "text": list(texts.values())}))
        training, special = spec.inference_training, texts_read.layout.count
        layout = Layout(
            training.max_length,
            special,
            training.stride,
            training.stride_counts,
            fill_blanks=spec.fill_blanks,
            words_as_options=spec.words_as_options,
        )
        examples, unreadable = build_examples(questions, passages, texts_read.tokens, layout)
        experiment = Experiment(
            benchmark=spec.benchmark,
            name=spec.name,
            reader=spec.reader,
            head=spec.head,
            options=spec.options,
            encoder=EncoderParameters(source=processing.source),
            training=training,
            source=QuestionSource(
                spec.benchmark,
                pads.dataset(questions),
                passages,
                texts_read.tokens,
                spec.task,
                special,
                fill_blanks=spec.fill_blanks,
                words_as_options=spec.words_as_options,
            ),
            layout=texts_read.layout,
            preparation=TextPreparation(spec.tagging_profile, spec.tokenizer_profile, spec.tagging),
            alignment=texts_read.alignment,
        )
        return cls(experiment, QuestionSet(questions, texts, texts_read.tokens, examples, unreadable))

    def unreadable(self) -> dict[str, str]:
        """Return the questions that cannot be read, with reasons."""
        return {question.question_id: question.reason for question in self.asked.unreadable}

    def answer(
        self, reader: Reader, question_id: str, *, threshold: float | None, has_options: bool
    ) -> PredictedAnswer:
        """Answer one question, with evidence.

        Args:
            reader: The reader.
            question_id: The question's id.
            threshold: No answer is given where its score exceeds the best span's by more than this; None: always one.
            has_options: Whether options were given, whose probabilities are told one by one.
        """
        example = next(candidate for candidate in self.asked.examples if candidate.question_id == question_id)
        trace = trace_forward(reader, self.experiment, self.asked, example)
        collator = build_collator(self.experiment, reader, self.asked)
        (decoded,) = decode(
            trace.output,
            trace.batch,
            [example],
            collator=collator,
            tokens=self.asked.tokens,
            max_answer_length=self.experiment.training.max_answer_length,
            softmaxed=self.experiment.scores_are_softmaxed,
        )
        row = self.asked.rows[question_id]
        if self.experiment.source.task == "span":
            answer = self._span(trace, decoded, threshold, self.asked.texts[question_id])
        else:
            answer = _choice_answer(collator.words(example), trace, decoded, row["options"], has_options=has_options)
        evidence = most_attended_tokens(reader, trace, decoded.decide(threshold).sequence)
        return {**answer, "evidence": evidence}

    def _span(self, trace: ForwardTrace, decoded: Answer, threshold: float | None, passage: str) -> PredictedChoice:
        """Return the best span, or no answer, with the best spans of its window."""
        max_length, softmaxed = self.experiment.training.max_answer_length, self.experiment.scores_are_softmaxed
        # Without a threshold the best span decides, and the listed spans come from its window.
        window = decoded.decide(None).sequence
        tokens = trace.sequences[window].passage
        spans = top_spans(trace.output, trace.batch, window, max_length=max_length, softmaxed=softmaxed)
        answered = threshold is None or decoded.null_margin <= threshold
        return {
            "answer": passage[decoded.start : decoded.end] if answered else "",
            "label": None,
            "start": decoded.start if answered else None,
            "end": decoded.end if answered else None,
            "choices": [passage[tokens[span.first].start : tokens[span.last].end] for span in spans],
            "probabilities": [span.probability for span in spans],
            "null_score": decoded.null_margin,
        }


def _choice_answer(
    words: Sequence[str], trace: ForwardTrace, decoded: Answer, options: Sequence[str], *, has_options: bool
) -> PredictedChoice:
    """An option, or a word of the passage.

    Args:
        words: The distinct words of the passage, by their numbers.
        trace: What the reader made of the question.
        decoded: The reader's answer.
        options: What it chose from, unless it chose from all words.
        has_options: Whether these were given, so that each is told.
    """
    answer: str | None
    word_mass = trace.output.word_mass
    # The reader chose from all words of the passage; options, if given, only label the word.
    if decoded.scores is None and word_mass is not None:
        answer, choices, probabilities = decoded.word, words, word_mass[0].tolist()
        label = list(options).index(answer) if answer is not None and answer in options else None
    else:
        label = decoded.choice
        answer, choices, probabilities = options[label], options, option_probabilities(trace.output)[0].tolist()
    pairs = list(zip(choices, probabilities, strict=False))
    if decoded.scores is None or not has_options:
        pairs = sorted(pairs, key=lambda pair: -pair[1])[:MAX_WORDS]
    return {
        "answer": answer,
        "label": label if has_options else None,
        "start": None,
        "end": None,
        "choices": [choice for choice, _ in pairs],
        "probabilities": [probability for _, probability in pairs],
        "null_score": None,
    }


@dataclass(frozen=True)
class Predictor:
    """Answers questions about texts, in float32 and one by one, so that no answer depends on other questions.

    Attributes:
        spec: How the reader is asked.
        reader: The reader.
        processing: What makes its tokens of texts.
        limits: What may be asked.
        folder: Where it was loaded from; None: nowhere, and no other process can load it.
    """

    spec: RunSpec
    reader: Reader
    processing: Preprocessor
    limits: Limits
    folder: Path | None = None

    @classmethod
    def load(cls, folder: Path | str, *, limits: Limits | None = None, device: str | None = None) -> "Predictor":
        """Load a reader: from a trial's folder, or from one that `coattend.serving.preprocessor` made.

        Args:
            folder: The folder.
            limits: What may be asked; None: the usual.
            device: Where it answers; None: on a GPU if there is one.

        Raises:
            CoattendError: If the folder holds no reader, or a damaged one, or what made its tokens cannot be had.
        """
        import torch

        folder = Path(folder)
        spec = run_spec.read_servable(folder)
        if spec.model_digest not in (None, digest_of_files(folder / "model")):
            cure = "Train it again, or fetch it again from where it was copied"
            raise CoattendError("is not the reader that was trained", where=str(folder / "model"), cure=cure)
        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        reader = Reader.load(run_spec.weights_of(folder)).to(device)
        return cls(spec, reader, Preprocessor.of(spec, folder), limits or Limits(), folder)

    @property
    def on_gpu(self) -> bool:
        """Whether it answers on a GPU."""
        return next(self.reader.parameters()).is_cuda

    def answers(self, questions: Sequence[Query]) -> Iterator[PredictedAnswer | InvalidQuery]:
        """Answer questions, or say of each why it cannot be answered.

        Args:
            questions: Any questions.

        Yields:
            For each question, in order, what `coattend.schemas.ANSWERS` says of an answer, or why there is none.
        """
        rows_or_refusals = [self._ready(f"{number}", row) for number, row in enumerate(questions)]
        rows = [row for row in rows_or_refusals if not isinstance(row, InvalidQuery)]
        if not rows:
            # All questions were refused, so there is nothing to tokenise.
            yield from (refusal for refusal in rows_or_refusals if isinstance(refusal, InvalidQuery))
            return
        reading = PreparedQueries.of(rows, self.processing)
        unreadable = reading.unreadable()
        for row, query in zip(rows_or_refusals, questions, strict=True):
            if isinstance(row, InvalidQuery):
                yield row
            elif row["question_id"] in unreadable:
                yield InvalidQuery(unreadable[row["question_id"]], cure="Ask it in fewer words")
            else:
                yield reading.answer(
                    self.reader,
                    row["question_id"],
                    threshold=self.spec.null_threshold,
                    has_options=query.options is not None,
                )

    def answer(self, question: Query) -> PredictedAnswer:
        """Answer one question.

        Raises:
            InvalidQuery: If it cannot be answered.
        """
        (answer,) = self.answers([question])
        if isinstance(answer, InvalidQuery):
            raise answer
        return answer

    def _ready(self, name: str, query: Query) -> QueryRow | InvalidQuery:
        """A question as a row of the questions table, with its passage."""
        try:
            check_query(query, self.limits)
            options = self._options(query)
        except InvalidQuery as error:
            return error
        return {
            "question_id": name,
            "passage_id": name,
            "task": self.spec.task,
            "question": query.question,
            "passage": query.passage,
            "options": options,
            "label": None,
            "answers": None,
        }

    def _options(self, query: Query) -> list[str] | None:
        """What a question's answer is chosen from; None: the spans of its passage.

        Raises:
            InvalidQuery: If the reader answers no such questions.
        """
        if self.spec.task == "span":
            if query.options is not None:
                raise InvalidQuery(
                    "has options, and this reader answers with a span of the passage", cure="Leave them out"
                )
            return None
        if query.options is None and self.spec.needs_options:
            raise InvalidQuery("has no options, and this reader chooses one of them", cure="Give two or more")
        if self.spec.task == "word" and not is_cloze(query.question):
            cure = "Write _ or @placeholder where the word is missing"
            raise InvalidQuery("the question has no blank, and this reader finds the word that fills it", cure=cure)
        # Without candidates, every distinct word of the passage is one.
        return list(distinct_words(query.passage).numbers if query.options is None else query.options)
