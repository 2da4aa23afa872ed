"""What a reader looks at while it reads one question."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from coattend.parameters import TokenizerParameters
from coattend.readers.batch import Batch
from coattend.readers.legend import Reading, legend_of
from coattend.readers.reader import Reader, ReaderOutput
from coattend.text.questions import question_domains
from coattend.text.subwords import load_tokenizer
from coattend.training.chosen import of_spans
from coattend.training.data import QuestionSet
from coattend.training.examples import Example
from coattend.training.plan import Plan
from coattend.training.tokens import Tokens
from coattend.training.words import WordTokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPANS = {name: Reading(("passage",)) for name in ("start", "end")}
"""How the softmaxed logits of spans are read."""


class Token(NamedTuple):
    """A token of a sequence.

    Attributes:
        domain: The text that it stands in: ``passage``, ``question`` or ``option``.
        text: What it is.
        start: Its first character in that text; None for a special token.
        end: The character after its last.
    """

    domain: str
    text: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True)
class Sequence:
    """What a reader was given, and where it looked.

    Attributes:
        passage: The tokens of the passage domain [P].
        question: The tokens of the question domain [Q].
        maps: By name the numbers of each turn, head or layer [levels, P] or [levels, Q], as its `Reading` says.
    """

    passage: list[Token]
    question: list[Token]
    maps: dict[str, np.ndarray]


@dataclass(frozen=True)
class Look:
    """What a reader made of one question.

    Attributes:
        output: Its output.
        batch: What it was given.
        legend: How each map is read.
        sequences: One for each option, or for each window of the passage.
    """

    output: ReaderOutput
    batch: Batch
    legend: Mapping[str, Reading]
    sequences: list[Sequence]


def look(reader: Reader, plan: Plan, asked: QuestionSet, example: Example) -> Look:
    """Read one question and keep what is looked at.

    It is read in full precision, so that in bf16 a near tie may have been decided otherwise.

    Args:
        reader: A reader, on the device to use.
        plan: Its plan.
        asked: The question among others.
        example: The question.
    """
    batch = Batch(**plan.collator(reader, asked)([example])).to(next(reader.parameters()).device)
    reader.eval()
    reader.keep_maps()
    with torch.inference_mode():
        output = reader(batch)
    reader.keep_maps(False)
    found, legend = dict(output.attended.maps), dict(legend_of(reader.interaction))
    if "token_mass" in legend and output.attended.token_mass is not None:
        found["token_mass"] = output.attended.token_mass
    if output.start is not None:
        found |= dict(zip(SPANS, of_spans(output, softmaxed=plan.scores_are_softmaxed), strict=True))
        legend |= SPANS
    legend = {name: legend[name] for name in found if name in legend}
    given = _tokens(plan, asked, example)
    sequences = []
    for row, (passage, question) in enumerate(given):
        masks = _streams(batch, row)
        maps = {name: _seen(found[name][row], reading, masks) for name, reading in legend.items()}
        lengths = {"passage": len(passage)}
        cut = {name: made[:, : lengths.get(legend[name].seen, len(question))] for name, made in maps.items()}
        sequences.append(Sequence(passage, question, cut))
    return Look(output, batch, legend, sequences)


def _streams(batch: Batch, row: int) -> dict[str, Tensor]:
    """Which tokens of its domain each stream of a sequence has."""
    whole = batch.question_mask[row]
    option = batch.option_mask[row] & whole
    asked = whole & ~option
    apart = bool(option.any()) and bool(asked.any())
    return {
        "passage": batch.passage_mask[row],
        "question": whole,
        "asked": asked if apart else whole,
        "option": option if apart else whole,
    }


def _seen(found: Tensor, reading: Reading, masks: Mapping[str, Tensor]) -> np.ndarray:
    """What is seen of each token, on average over the tokens that look: [levels, tokens]."""
    found = found.float() if reading.level is not None else found.float().unsqueeze(0)
    if reading.by is not None:
        if reading.axes[-1] != reading.seen:
            found = found.transpose(-1, -2)
        if reading.kind == "product":
            found = found.masked_fill(~masks[reading.seen], -torch.inf).softmax(-1)
        found = found[:, masks[reading.by]].mean(1)
    return found.masked_fill(~masks[reading.seen], 0.0).cpu().numpy()


def _tokens(plan: Plan, asked: QuestionSet, example: Example) -> list[tuple[list[Token], list[Token]]]:
    """The tokens of both domains of every sequence."""
    tokens, layout = asked.tokens, plan.layout
    before, between, behind = (_special(plan, tokens, ids) for ids in (layout.prefix, layout.middle, layout.suffix))
    passage = _of_text(tokens, example.passage, "passage", asked.texts[example.question_id])
    texts = texts_of(plan, asked.rows[example.question_id])
    made = []
    for number, (rows, (first, count)) in enumerate(zip(example.sequences, example.windows, strict=True)):
        own = texts[number if len(texts) > 1 else 0]
        parts = zip(rows, ("question", "option"), own, strict=False)
        question = [token for row, domain, text in parts for token in _of_text(tokens, row, domain, text)]
        last = "option" if len(rows) > 1 else "question"
        held = [Token("passage", text) for text in before], [Token("passage", text) for text in between]
        made.append(
            (
                [*held[0], *passage[first : first + count], *held[1]],
                [*question, *(Token(last, text) for text in behind)],
            )
        )
    return made


def texts_of(plan: Plan, question: Mapping[str, Any]) -> list[list[str]]:
    """The texts in the question domain of each of a question's sequences; one where these are windows.

    Args:
        plan: How it is read.
        question: Its row.
    """
    return question_domains(
        question["task"],
        question["question"],
        question["options"],
        fill_blanks=plan.source.fill_blanks,
        words_as_options=plan.source.words_as_options,
    )


def _of_text(tokens: Tokens, row: int, domain: str, text: str) -> list[Token]:
    where = tokens.slice(row)
    places = zip(tokens.starts[where].tolist(), tokens.ends[where].tolist(), strict=True)
    return [Token(domain, text[start:end], start, end) for start, end in places]


def _special(plan: Plan, tokens: Tokens, ids: tuple[int, ...]) -> list[str]:
    """What special tokens are called."""
    if isinstance(tokens, WordTokens):
        return ["[none]"] * len(ids)
    names = _tokenizer(plan.encoder.source)
    return [names.id_to_token(number) for number in ids]


@cache
def _tokenizer(source: str) -> "Tokenizer":
    return load_tokenizer(TokenizerParameters(source=source)).tokenizer
