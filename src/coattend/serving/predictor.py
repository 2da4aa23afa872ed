"""A trained reader that answers questions: tokenizer, tagger and reader in one object."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TypedDict, cast

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

from coattend.batches.dataset import QuestionSet, QuestionSource
from coattend.batches.examples import build_examples
from coattend.config import EncoderParameters, Limits
from coattend.errors import CoattendError
from coattend.inference.attention_maps import SPAN_MAPS, ForwardTrace, trace_forward
from coattend.inference.decoding import (
    OptionAnswer,
    SpanAnswer,
    WordAnswer,
    best_option,
    option_probabilities,
    top_spans,
)
from coattend.readers.encoders.passage_apart import PassageCache
from coattend.readers.encoders.transformer import TransformerEncoder
from coattend.readers.interfaces import require
from coattend.readers.reader import Reader
from coattend.schemas import QUESTIONS
from coattend.serving.language_model import PromptedModel
from coattend.serving.preprocessor import Preprocessor
from coattend.serving.queries import InvalidQuery, Query, check_query
from coattend.text.cloze import distinct_words, is_cloze
from coattend.trials import run_spec
from coattend.trials.experiment import Experiment, TextPreparation, question_multiple, reads_apart
from coattend.trials.run_spec import RunSpec
from coattend.trials.trial import still_has_digest

MAX_EVIDENCE_TOKENS = 10
"""Number of tokens in the evidence."""

MAX_WORDS = 5
"""Number of words of the passage that are listed with their probabilities."""

PASSAGE_CACHE_BYTES = 1 << 28
"""Memory for passages that were read before: about thirty of 350 words each for the embedded encoder."""

_COLUMNS = ("question_id", "passage_id", "task", "question", "options", "label", "answers")


class EvidenceToken(TypedDict):
    """A token of the passage with its characters there and its share of the attention."""

    text: str
    start: int | None
    end: int | None
    weight: float


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


@dataclass(frozen=True)
class PreparedQueries:
    """Queries prepared as evaluation prepares questions."""

    experiment: Experiment
    questions: QuestionSet

    @cached_property
    def _rows(self) -> dict[str, int]:
        """The row of each question's example by its id: to look for one among those of a file takes long."""
        return {example.question_id: row for row, example in enumerate(self.questions.examples)}

    @classmethod
    def of(cls, queries: Mapping[str, Query], processing: Preprocessor) -> "PreparedQueries":
        """Tokenise queries by question id, with options where a reader chooses one, and build their examples."""
        spec, texts_read = processing.spec, processing(queries.values())
        texts = {question_id: query.passage for question_id, query in queries.items()}
        rows = [
            {"question_id": name, "passage_id": name, "task": spec.task, "question": q.question, "options": q.options}
            for name, q in queries.items()
        ]
        # Labels and answers, which rows lack, are null.
        questions = pa.Table.from_pylist(rows, schema=pa.schema([QUESTIONS.field(name) for name in _COLUMNS]))
        passages = pads.dataset(pa.table({"passage_id": list(texts), "text": list(texts.values())}))
        training, special = spec.inference_training, texts_read.layout.count
        source = QuestionSource(
            spec.benchmark,
            pads.dataset(questions),
            passages,
            texts_read.tokens,
            task=spec.task,
            special_tokens=special,
            fill_blanks=spec.fill_blanks,
            words_as_options=spec.words_as_options,
            question_multiple=question_multiple(spec.options),
        )
        examples, unreadable = build_examples(questions, passages, texts_read.tokens, source.layout(training))
        experiment = Experiment(
            benchmark=spec.benchmark,
            name=spec.name,
            reader=spec.reader,
            head=spec.head,
            options=spec.options,
            encoder=EncoderParameters(source=processing.source),
            training=training,
            source=source,
            layout=texts_read.layout,
            preparation=TextPreparation(spec.tagging_profile, spec.tokenizer_profile, spec.tagging),
            alignment=texts_read.alignment,
        )
        return cls(experiment, QuestionSet(questions, texts, texts_read.tokens, examples, unreadable))

    def answer(
        self, reader: Reader, question_id: str, *, threshold: float | None, has_options: bool
    ) -> PredictedAnswer:
        """Answer one question, with evidence; probabilities of options that were given are all listed.

        A span is no answer where the score of none exceeds the best span's by more than the threshold; None: never.
        """
        example = self.questions.examples[self._rows[question_id]]
        trace = trace_forward(reader, self.experiment, self.questions, example)
        passage, options = self.questions.texts[question_id], self.questions.rows[question_id]["options"]
        if isinstance(trace.answer, SpanAnswer):
            answer = self._span(trace, trace.answer, threshold, passage)
        else:
            answer = _choice_answer(passage, trace, trace.answer, options or (), has_options=has_options)
        evidence = most_attended_tokens(trace, trace.answer.decide(threshold).sequence)
        return {**answer, "evidence": evidence}

    def _span(self, trace: ForwardTrace, decoded: SpanAnswer, threshold: float | None, passage: str) -> PredictedChoice:
        """Return the best span, or no answer, with the best spans of its window."""
        max_length, softmaxed = self.experiment.training.max_answer_length, self.experiment.scores_are_softmaxed
        # Without a threshold the best span decides, and the listed spans come from its window.
        window = decoded.sequence
        tokens = trace.sequences[window].passage
        spans = top_spans(trace.output, trace.batch, window, max_length=max_length, softmaxed=softmaxed)
        # A proposal may hold no text.
        answered = (threshold is None or decoded.null_margin <= threshold) and decoded.start < decoded.end
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
    passage: str,
    trace: ForwardTrace,
    decoded: OptionAnswer | WordAnswer,
    options: Sequence[str],
    *,
    has_options: bool,
) -> PredictedChoice:
    """Return the option, or the word of the passage, that the reader decided for."""
    choices: Sequence[str]
    # The reader chose from all words of the passage; options, if given, only label the word.
    if isinstance(decoded, WordAnswer):
        answer, choices = decoded.word, list(distinct_words(passage).numbers)
        probabilities = require(trace.output.word_mass, "output.word_mass")[0].tolist()
        label = list(options).index(answer) if answer in options else None
    else:
        label = decoded.choice
        answer, choices, probabilities = options[label], options, option_probabilities(trace.output)[0].tolist()
    pairs = list(zip(choices, probabilities, strict=False))
    if isinstance(decoded, WordAnswer) or not has_options:
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


def _likeliest_option(model: PromptedModel, query: Query) -> PredictedAnswer | InvalidQuery:
    """Return the option that a language model finds likeliest; it has no attention that would be evidence."""
    try:
        probabilities = model.probabilities(query)
    except InvalidQuery as refusal:
        return refusal
    options = list(query.options or ())
    label = best_option(probabilities)
    answer: PredictedChoice = {
        "answer": options[label],
        "label": label,
        "start": None,
        "end": None,
        "choices": options,
        "probabilities": probabilities,
        "null_score": None,
    }
    return {**answer, "evidence": []}


def most_attended_tokens(trace: ForwardTrace, sequence: int) -> list[EvidenceToken]:
    """Return the tokens of the passage with the most attention, the heaviest first.

    Every map of the passage that the reader's interaction has counts the same: over turns, heads or layers its mean is
    taken, and of that each token's share of what the passage has; the shares of all tokens add up to one. Where the
    interaction has no map, as that of ``plain``, it is what the question's tokens see of the passage in the encoder's
    last layer. The sequence is that of the answer.
    """
    tokens, maps = trace.sequences[sequence].passage, trace.sequences[sequence].maps
    # Special tokens have no characters in the passage.
    is_token = np.array([token.start is not None for token in tokens])
    names = [name for name in maps if trace.legend[name].seen == "passage" and name not in SPAN_MAPS]
    shares = _shares((maps[name].mean(0, dtype=np.float64) for name in names), is_token)
    if not shares and trace.encoder_attention is not None:
        shares = _shares([trace.encoder_attention[sequence, : len(tokens)].astype(np.float64)], is_token)
    if not shares:
        return []
    weights = np.mean(shares, axis=0)
    # A stable sort keeps equally heavy tokens in the order of the passage.
    heaviest = np.argsort(-weights, kind="stable")[:MAX_EVIDENCE_TOKENS]
    evidence = [(tokens[index], float(weights[index])) for index in heaviest if weights[index] > 0]
    return [
        {"text": token.text, "start": token.start, "end": token.end, "weight": weight} for token, weight in evidence
    ]


def _shares(maps: Iterable[np.ndarray], is_token: np.ndarray) -> list[np.ndarray]:
    """Share of each token in each map [P], 0 for special tokens; empty maps are left out."""
    weights = [np.where(is_token, np.clip(values, 0, None), 0.0) for values in maps]
    return [values / total for values in weights if (total := values.sum()) > 0]


@dataclass(frozen=True)
class Predictor:
    """Answers questions about texts one by one, so that no answer depends on other questions: a trained reader in
    float32, a language model as it is in the precision of its trial.

    Without the folder that it was loaded from, no other process can load it. A language model reads texts as they are,
    without a preprocessor.
    """

    spec: RunSpec
    reader: Reader | PromptedModel
    processing: Preprocessor | None
    limits: Limits
    folder: Path | None = None
    _turn: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)
    """Held while a question is answered: the reader keeps maps and shows its attention for one at a time."""

    @classmethod
    def load(cls, folder: Path | str, *, limits: Limits | None = None, device: str | None = None) -> "Predictor":
        """Load a reader: from a trial's folder, or from one that `coattend.serving.preprocessor.pack` made.

        Without a device it answers on a GPU if there is one.

        Raises:
            CoattendError: If the folder holds no reader, or a damaged one, or what made its tokens cannot be had, or
                its language model.
        """
        import torch

        folder = Path(folder)
        spec = run_spec.read_servable(folder)
        if spec.model_digest is not None and not still_has_digest(folder / "model", spec.model_digest):
            cure = "Train it again, or fetch it again from where it was copied"
            raise CoattendError("is not the reader that was trained", where=str(folder / "model"), cure=cure)
        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        if spec.language_model is not None:
            return cls(spec, PromptedModel.load(spec, device=device), None, limits or Limits(), folder)
        reader = Reader.load(run_spec.weights_of(folder)).to(device)
        if reads_apart(spec.options):
            cast(TransformerEncoder, reader.encoder).passage_cache = PassageCache(PASSAGE_CACHE_BYTES)
        return cls(spec, reader, Preprocessor.of(spec, folder), limits or Limits(), folder)

    @property
    def on_gpu(self) -> bool:
        """True if it answers on a GPU."""
        if isinstance(self.reader, PromptedModel):
            return self.reader.on_gpu
        return next(self.reader.parameters()).is_cuda

    def answers(self, questions: Sequence[Query]) -> Iterator[PredictedAnswer | InvalidQuery]:
        """Yield the answer to each question, in order, or why it cannot be answered."""
        checked = {f"{number}": self._ready(question) for number, question in enumerate(questions)}
        queries = {name: query for name, query in checked.items() if isinstance(query, Query)}
        if not queries:
            # All questions were refused, so there is nothing to tokenise.
            yield from (refusal for refusal in checked.values() if isinstance(refusal, InvalidQuery))
            return
        answer = self._prepare(queries)
        for (name, query), question in zip(checked.items(), questions, strict=True):
            if isinstance(query, InvalidQuery):
                yield query
                continue
            with self._turn:
                answered = answer(name, question.options is not None)
            yield answered

    def _prepare(self, queries: Mapping[str, Query]) -> Callable[[str, bool], PredictedAnswer | InvalidQuery]:
        """Prepare queries; return what answers one by its name, given whether its options were."""
        reader, threshold = self.reader, self.spec.null_threshold
        if isinstance(reader, PromptedModel):
            return lambda name, _: _likeliest_option(reader, queries[name])
        reading = PreparedQueries.of(queries, cast(Preprocessor, self.processing))
        unreadable = {question.question_id: question.reason for question in reading.questions.unreadable}

        def answer(name: str, has_options: bool) -> PredictedAnswer | InvalidQuery:
            if name in unreadable:
                return InvalidQuery(unreadable[name], cure="Ask it in fewer words")
            return reading.answer(reader, name, threshold=threshold, has_options=has_options)

        return answer

    def answer(self, question: Query) -> PredictedAnswer:
        """Answer one question, or raise an `InvalidQuery` that says why it cannot be answered."""
        (answer,) = self.answers([question])
        if isinstance(answer, InvalidQuery):
            raise answer
        return answer

    def _ready(self, query: Query) -> Query | InvalidQuery:
        """Return a query with the options that its answer is chosen from, or why it is refused."""
        try:
            check_query(query, self.limits)
            return replace(query, options=self._options(query))
        except InvalidQuery as error:
            return error

    def _options(self, query: Query) -> tuple[str, ...] | None:
        """Return the options that a question's answer is chosen from; None: the spans of its passage."""
        if self.spec.task == "span":
            if query.options is not None:
                problem = "has options, and this reader answers with a span of the passage"
                raise InvalidQuery(problem, cure="Leave them out")
            return None
        if query.options is None and self.spec.needs_options:
            raise InvalidQuery("has no options, and this reader chooses one of them", cure="Give two or more")
        if self.spec.task == "word" and not is_cloze(query.question):
            cure = "Write _ or @placeholder where the word is missing"
            raise InvalidQuery("the question has no blank, and this reader finds the word that fills it", cure=cure)
        # Without candidates, every distinct word of the passage is one.
        return tuple(distinct_words(query.passage).numbers if query.options is None else query.options)
