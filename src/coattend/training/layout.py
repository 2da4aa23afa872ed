"""How questions become sequences, and long passages windows."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Layout:
    """How questions become sequences.

    Attributes:
        max_length: Longest sequence in tokens, special ones included. A passage gives way; a question never does.
        special_tokens: How many special tokens a sequence has.
        stride: Tokens between the windows of a long passage, for spans.
        stride_counts: ``overlap``: the tokens that two windows share (at most half a window). ``advance``: those from
            the start of one to the start of the next.
        fill_blanks: Whether an option fills the question's blank, or stands behind the question.
        words_as_options: Whether candidates for a word are read like options.
    """

    max_length: int
    special_tokens: int
    stride: int = 128
    stride_counts: Literal["overlap", "advance"] = "overlap"
    fill_blanks: bool = False
    words_as_options: bool = False

    def windows(self, passage: int, question: int) -> list[tuple[int, int]]:
        """Windows of a passage beside a question, both in tokens: the first token of each, and how many.

        Returns:
            Nothing if the question leaves no room.
        """
        room = self.max_length - self.special_tokens - question
        if room < 1:
            return []
        overlap = self.stride if self.stride_counts == "overlap" else room - self.stride
        advance = room - min(max(overlap, 0), room // 2)
        starts = range(0, max(passage - room, 0) + advance, advance)
        return [(start, min(room, passage - start)) for start in starts]
