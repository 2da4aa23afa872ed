"""A trained reader with all that it takes to answer questions about any texts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coattend.answering import recipe as recipes
from coattend.answering.asked import Asked, Refused, check
from coattend.answering.processing import Processing
from coattend.answering.reading import Reading
from coattend.answering.recipe import Recipe
from coattend.errors import CoattendError
from coattend.parameters import Limits
from coattend.readers.reader import Reader
from coattend.text.occurrences import distinct_words
from coattend.text.questions import is_cloze
from coattend.training.trial import digest_of_files


@dataclass(frozen=True)
class Answerer:
    """Answers questions about texts, in float32 and one by one, so that no answer depends on what else is asked.

    Attributes:
        recipe: How the reader is asked.
        reader: The reader.
        processing: What makes its tokens of texts.
        limits: What may be asked.
        folder: Where it was loaded from; None: nowhere, and no other process can load it.
    """

    recipe: Recipe
    reader: Reader
    processing: Processing
    limits: Limits
    folder: Path | None = None

    @classmethod
    def load(cls, folder: Path | str, *, limits: Limits | None = None, device: str | None = None) -> "Answerer":
        """Load a reader: from a trial's folder, or from one that `coattend.answering.packing` made.

        Args:
            folder: The folder.
            limits: What may be asked; None: the usual.
            device: Where it answers; None: on a GPU if there is one.

        Raises:
            CoattendError: If the folder holds no reader, or a damaged one, or what made its tokens cannot be had.
        """
        import torch

        folder = Path(folder)
        recipe = recipes.read(folder)
        if recipe.model_digest not in (None, digest_of_files(folder / "model")):
            cure = "Train it again, or fetch it again from where it was copied"
            raise CoattendError("is not the reader that was trained", where=str(folder / "model"), cure=cure)
        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        reader = Reader.load(recipes.weights_of(folder)).to(device)
        return cls(recipe, reader, Processing.of(recipe, folder), limits or Limits(), folder)

    @property
    def on_gpu(self) -> bool:
        """Whether it answers on a GPU."""
        return next(self.reader.parameters()).is_cuda

    def answers(self, questions: Sequence[Asked]) -> Iterator[dict[str, Any] | Refused]:
        """Answer questions, or say of each why it cannot be answered.

        Args:
            questions: Any questions.

        Yields:
            For each question, in order, what `coattend.tables.ANSWERS` says of an answer, or why there is none.
        """
        ready = [self._ready(f"{place}", one) for place, one in enumerate(questions)]
        rows = [one for one in ready if not isinstance(one, Refused)]
        if not rows:
            yield from ready
            return
        reading = Reading.of(rows, self.processing)
        unreadable = reading.unreadable()
        for one, asked in zip(ready, questions, strict=True):
            if isinstance(one, Refused):
                yield one
            elif one["question_id"] in unreadable:
                yield Refused(unreadable[one["question_id"]], cure="Ask it in fewer words")
            else:
                listed = asked.options is not None
                how = {"threshold": self.recipe.null_threshold, "listed": listed}
                yield reading.answer(self.reader, one["question_id"], **how)

    def answer(self, question: Asked) -> dict[str, Any]:
        """Answer one question.

        Raises:
            Refused: If it cannot be answered.
        """
        (given,) = self.answers([question])
        if isinstance(given, Refused):
            raise given
        return given

    def _ready(self, name: str, asked: Asked) -> dict[str, Any] | Refused:
        """A question as a row of the questions table, with its passage."""
        try:
            check(asked, self.limits)
            options = self._options(asked)
        except Refused as refused:
            return refused
        row = {"question_id": name, "passage_id": name, "task": self.recipe.task, "question": asked.question}
        return row | {"passage": asked.passage, "options": options, "label": None, "answers": None}

    def _options(self, asked: Asked) -> list[str] | None:
        """What a question's answer is chosen from; None: the spans of its passage.

        Raises:
            Refused: If the reader answers no such questions.
        """
        if self.recipe.task == "span":
            if asked.options is not None:
                raise Refused("has options, and this reader answers with a span of the passage", cure="Leave them out")
            return None
        if asked.options is None and self.recipe.needs_options:
            raise Refused("has no options, and this reader chooses one of them", cure="Give two or more")
        if self.recipe.task == "word" and not is_cloze(asked.question):
            cure = "Write _ or @placeholder where the word is missing"
            raise Refused("the question has no blank, and this reader finds the word that fills it", cure=cure)
        return list(distinct_words(asked.passage).numbers if asked.options is None else asked.options)
