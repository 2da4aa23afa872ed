"""Coattention of passage and question with sentinels (DCN)."""

from collections.abc import Set
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from coattend.readers.attended import Attended, Encoded
from coattend.readers.linear import identity
from coattend.readers.parts import EncoderShape, InteractionConfig
from coattend.readers.precision import at_least_float32, full_precision
from coattend.readers.recurrence import Recurrence


class Coattention(nn.Module):
    """The coattention encoder of DCN (Xiong et al. 2017, section 2.2), behind its word encodings.

    D is the passage and Q = tanh(W [question] + b), both with a learned sentinel at the end, on which a token may
    look that has nothing to look at. L = D^T Q, A^Q = softmax(L) over the passage, A^D = softmax(L^T) over the other,
    C^Q = D A^Q, C^D = [Q; C^Q] A^D, U = biLSTM([D; C^D]). The sentinels take part in the sums; their own rows go.

    With ``keep_maps`` the maps are ``sees_question`` [S, P, Q], what each passage token sees of the question (A^D), and
    ``sees_passage`` [S, P, Q], what each question token sees of the passage (A^Q). They are without the sentinels: what
    those take of a token's look is what its sum over the other side lacks of one.

    Args:
        config: It has no options.
        shape: The encoder's.
    """

    class Config(InteractionConfig):
        """No options."""

        def fills(self, given: Set[str]) -> frozenset[str]:
            """The passage, question-aware: U."""
            return frozenset({"passage"})

        def width(self, shape: EncoderShape) -> int:
            """2H: U's two directions."""
            return 2 * shape.hidden_size

    def __init__(self, config: Config, shape: EncoderShape) -> None:
        super().__init__()
        width = shape.hidden_size
        self.project = identity(width)
        self.sentinels = nn.Parameter(torch.empty(2, width).uniform_(-0.1, 0.1))
        self.fuse = Recurrence(3 * width, width)
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Attend.

        Args:
            encoded: Passage [S, P, H] and question [S, Q, H].

        Returns:
            The passage U [S, P, 2H].
        """
        with full_precision(encoded.passage):
            passage, question = with_sentinels(encoded, self.sentinels, self.project)
            made = coattend(passage, question)
            held = passage.stream[:, :-1]
            context = made.sees_question @ torch.cat([question.stream, made.of_question], -1)  # C^D [S, P + 1, 2H]
        return Attended(
            passage=self.fuse(torch.cat([held, context[:, :-1]], -1), encoded.passage_mask),
            question=None,
            passage_mask=encoded.passage_mask,
            question_mask=encoded.question_mask,
            maps={name: one[:, :-1, :-1] for name, one in made.maps.items()} if self.keep_maps else {},
        )


@dataclass(frozen=True)
class Side:
    """One side of a coattention.

    Attributes:
        stream: [S, L, H].
        mask: True at real tokens [S, L].
    """

    stream: Tensor
    mask: Tensor


@dataclass(frozen=True)
class Summaries:
    """What two sides see of each other.

    Attributes:
        sees_question: How much each passage token looks at each question token [S, P, Q]: A^D, or softmax(A^T).
        sees_passage: How much each question token looks at each passage token [S, P, Q]: A^Q, or softmax(A).
        of_passage: S^D [S, P, H]: the question as each passage token sees it.
        of_question: S^Q, DCN's C^Q [S, Q, H]: the passage as each question token sees it.
    """

    sees_question: Tensor
    sees_passage: Tensor
    of_passage: Tensor
    of_question: Tensor

    @property
    def maps(self) -> dict[str, Tensor]:
        """Both attentions, by name."""
        return {"sees_question": self.sees_question, "sees_passage": self.sees_passage}


def coattend(passage: Side, question: Side) -> Summaries:
    """Let two sides look at each other (DCN+, equations 3 and 4).

    Args:
        passage: [S, P, H].
        question: [S, Q, H].
    """
    affinity = passage.stream @ question.stream.transpose(1, 2)  # A [S, P, Q]
    sees_question = affinity.masked_fill(~question.mask.unsqueeze(1), -torch.inf).softmax(2)
    sees_passage = affinity.masked_fill(~passage.mask.unsqueeze(2), -torch.inf).softmax(1)
    return Summaries(
        sees_question=sees_question,
        sees_passage=sees_passage,
        of_passage=sees_question @ question.stream,
        of_question=sees_passage.transpose(1, 2) @ passage.stream,
    )


def with_sentinels(encoded: Encoded, sentinels: Tensor, project: nn.Module) -> tuple[Side, Side]:
    """Both sides with a sentinel behind them, the question through a tanh layer (DCN+, equations 1 and 2).

    Args:
        encoded: Passage [S, P, H] and question [S, Q, H].
        sentinels: The passage's and the question's [2, H].
        project: The layer before the tanh.
    """
    passage, question = at_least_float32(encoded.passage), at_least_float32(encoded.question)
    rows = len(passage)
    always = encoded.passage_mask.new_ones(rows, 1)
    of_passage, of_question = (one.expand(rows, 1, -1) for one in sentinels)
    return (
        Side(torch.cat([passage, of_passage], 1), torch.cat([encoded.passage_mask, always], 1)),
        Side(torch.tanh(project(torch.cat([question, of_question], 1))), torch.cat([encoded.question_mask, always], 1)),
    )


PART = Coattention
