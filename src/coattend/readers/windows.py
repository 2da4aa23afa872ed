"""Options that are read with several windows of a long passage: an option has one score, and a question one loss.

Shapes: B questions, C options, W windows, S sequences.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from torch import Tensor
from torch.nn.functional import cross_entropy

from coattend.readers.batch import Batch
from coattend.readers.heads.configs import OverWindows
from coattend.readers.interfaces import require
from coattend.readers.reader import ReaderOutput


@dataclass(kw_only=True)
class WindowedOutput(ReaderOutput):
    """Output of a reader whose options were read in windows.

    Attributes:
        window_scores: Score of each option in each window [B, C, W], of which ``scores`` are made; -inf where a
            question has fewer options or windows.
    """

    window_scores: Tensor


def read_batch(reader: Callable[[Batch], ReaderOutput], batch: Batch, over_windows: OverWindows | None) -> ReaderOutput:
    """Run a reader on a batch, and make one score of those that an option has over the windows of its passage.

    Without such windows this is the reader's own output. With them the loss is the cross entropy of the scores that
    are made, so that the windows of a question learn together: no window is blamed for what another one holds.

    Args:
        reader: A reader, or what wraps it.
        batch: A batch; ``option_index`` is [B, C, W] if a passage has several windows.
        over_windows: How scores become one; see `combine`.
    """
    index = batch.option_index
    if index is None or index.dim() == 2:
        return reader(batch)
    # The head scores an option in each window like an option; what is right holds for all windows together.
    output = reader(replace(batch, label=None))
    window_scores = require(output.scores, "output.scores")
    scores = combine(window_scores, index >= 0, require(over_windows, "training.over_windows"))
    loss = None if batch.label is None else cross_entropy(scores, batch.label)
    return WindowedOutput(**vars(output) | {"scores": scores, "loss": loss}, window_scores=window_scores)


def combine(window_scores: Tensor, real: Tensor, how: OverWindows) -> Tensor:
    """Make one score of an option [B, C] of its scores in the windows of its passage [B, C, W].

    Of a passage with one window it is that score, whatever ``how`` says.

    Args:
        window_scores: Scores; those of padding do not count.
        real: True at an option that a question has, in a window that its passage has [B, C, W].
        how: ``max``: the greatest, as one window may tell; ``mean``: their mean, as all may tell a part; ``logsumexp``:
            a soft maximum, by which the softmax over options is that over all pairs of an option and a window.
    """
    # Padding of an option must not reach a gradient as the difference of two infinities.
    is_option = real[..., 0]
    counted = real | ~is_option.unsqueeze(-1)
    finite = window_scores.masked_fill(~real, 0.0)
    if how == "mean":
        scores = finite.sum(-1) / counted.sum(-1)
    else:
        among = finite.masked_fill(~counted, -math.inf)
        scores = among.amax(-1) if how == "max" else among.logsumexp(-1)
    return scores.masked_fill(~is_option, -math.inf)
