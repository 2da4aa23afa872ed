"""POI-Net's iterative co-attention: passage and question attend to each other in turns, without parameters."""

import math

import torch
from torch import Tensor, nn

from coattend.readers.interactions.configs import IterativeCoAttentionConfig, Strategy
from coattend.readers.interfaces import Attended, Encoded, EncoderShape
from coattend.readers.layers.masked import at_least_float32, full_precision, masked_maximum


class IterativeCoAttention(nn.Module):
    """Iterative co-attention and attention integration (POI-Net, sections 2.2 and 2.3).

    Symbols of the paper: E is ``embedding``, CE the result of ``concentrate``, s ``cosines``, s-hat ``scores``, beta
    ``confidence``, alpha the running product of beta, T ``turns``, R the output. Choices where the paper leaves room:
    the scores of every turn compare the original E; s^0 = 1, so beta^1 = 1; *forgetting* starts with a^1 = s-hat^1; if
    all scores of a domain are equal, none stands out and each becomes 1; padding enters neither maximum nor minimum;
    without a turn R is E. Cosines are taken in float32 even under autocast, as the min-max magnifies their rounding.

    Four of the paper's side remarks are options: ``compared`` replaces E by the attended E^(t-1) (section 2.2, "no
    further significant performance improvement"), ``integrate: embeddings`` integrates E^t = s-hat^t E of all turns in
    place of s-hat^t (footnote 1: the same R takes longer), ``beta`` learns the betas (footnote 2), each between 0 and 2
    and the same for every example, and the strategy ``gate`` uses gates like those of an LSTM to forget (footnote 3).

    With ``keep_maps`` the maps are the scores of each turn, ``passage_scores`` [S, T, P] and ``question_scores``
    [S, T, Q], and the attention into which they are integrated, ``passage_attention`` [S, P] and ``question_attention``
    [S, Q].
    """

    Config = IterativeCoAttentionConfig

    def __init__(self, config: IterativeCoAttentionConfig, shape: EncoderShape) -> None:
        super().__init__()
        self.turns, self.strategy, self.compared = config.turns, config.strategy, config.compared
        self.integrates_scores = config.integrate == "scores"
        self.betas: nn.Parameter | None = None
        if config.beta == "learned" and config.turns > 1 and config.strategy != "average":
            self.betas = nn.Parameter(torch.zeros(2, config.turns - 1))
        # With one turn there is nothing to forget, and a gate would have no gradient.
        self.gate = Gate() if config.strategy == "gate" and config.turns > 1 else None
        self.keep_maps = False

    def forward(self, encoded: Encoded) -> Attended:
        """Weight every token by its attention: R_P [S, P, H] and R_Q [S, Q, H]."""
        if not self.turns:
            return Attended.of(encoded, passage=encoded.passage, question=encoded.question)
        with full_precision(encoded.passage):
            passage, question = self._compare(encoded)
            streams: dict[str, Tensor] = {}
            maps: dict[str, Tensor] = {}
            for name, domain in (("passage", passage), ("question", question)):
                if self.integrates_scores:
                    streams[name] = domain.embedding * self._integrate(domain, domain.scores).unsqueeze(-1)
                else:
                    streams[name] = self._integrate(domain, domain.turn_embeddings())
                if self.keep_maps:
                    maps[f"{name}_scores"] = torch.stack(domain.scores, 1)
                    maps[f"{name}_attention"] = self._integrate(domain, domain.scores)
        return Attended.of(encoded, passage=streams["passage"], question=streams["question"], maps=maps)

    def _compare(self, encoded: Encoded) -> "tuple[_Domain, _Domain]":
        """Score both domains in all turns."""
        passage = _Domain(encoded.passage, encoded.passage_mask, self.compared == "attended")
        question = _Domain(encoded.question, encoded.question_mask, self.compared == "attended")
        for turn in range(self.turns):
            # CE_P and CE_Q come from the previous turn, so both are taken before either domain moves on.
            passage_summary, question_summary = passage.concentrate(), question.concentrate()
            passage_beta, question_beta = passage.confidence(), question.confidence()
            if self.betas is not None and turn:
                question_beta, passage_beta = (
                    2 * torch.sigmoid(beta) * torch.ones_like(passage_beta) for beta in self.betas[:, turn - 1]
                )
            passage.compare_with(question_summary, question_beta)
            question.compare_with(passage_summary, passage_beta)
        return passage, question

    def _integrate(self, domain: "_Domain", turns: list[Tensor]) -> Tensor:
        """Integrate the scores [S, L] of a domain's turns, or the embeddings [S, L, H] that they weight."""
        if self.gate is not None:
            integrated: Tensor = self.gate(domain.scores, domain.betas, turns)
            return integrated
        betas = domain.betas if turns[0].dim() == 2 else [beta.unsqueeze(-1) for beta in domain.betas]
        return integrate(turns, betas, self.strategy)


class _Domain:
    """The tokens E [S, L, H] of one side, with their scores in all turns so far.

    With ``attended_is_compared`` E^(t-1), E scaled by the scores of all previous turns, takes the place of E.
    """

    def __init__(self, embedding: Tensor, mask: Tensor, attended_is_compared: bool) -> None:
        self.embedding, self.mask = at_least_float32(embedding), mask
        self._attended_is_compared = attended_is_compared
        self._scale: Tensor | None = None
        self.scores: list[Tensor] = []
        self.betas: list[Tensor] = []
        self._cosines: Tensor | None = None
        self._norms = _norm(self.embedding)

    def concentrate(self) -> Tensor:
        """Compute CE [S, H]: the maximum over real tokens of s-hat * E, with the last turn's scores (2.2.1, 2.2.2)."""
        return masked_maximum(self.embedding, self.mask, self._scale)

    def confidence(self) -> Tensor:
        """Compute (max of the last cosines + 1) / 2, [S, 1]; 1 before the first turn (weighted strategy, 2.3)."""
        if self._cosines is None:
            return torch.ones_like(self._norms[:, :1])
        return (self._masked(self._cosines, -math.inf).amax(1, keepdim=True) + 1) / 2

    def compare_with(self, concentrated: Tensor, beta: Tensor) -> None:
        """Score every token by its cosine with the other side's CE [S, H], whose confidence is beta [S, 1]."""
        dots = (self.embedding * concentrated.unsqueeze(1)).sum(-1)
        self._cosines = dots / (self._norms * _norm(concentrated).unsqueeze(-1))
        if self._attended_is_compared and self._scale is not None:
            # A cosine ignores the length of a vector, except of tokens that a score of zero has removed.
            self._cosines = torch.where(self._scale > 0, self._cosines, 0.0)
        self.scores.append(self._min_max(self._cosines))
        self.betas.append(beta)
        latest = self.scores[-1]
        self._scale = latest if self._scale is None or not self._attended_is_compared else self._scale * latest

    def turn_embeddings(self) -> list[Tensor]:
        """Compute E^t = s-hat^t E of each turn [S, L, H]."""
        return [self.embedding * score.unsqueeze(-1) for score in self.scores]

    def _min_max(self, cosines: Tensor) -> Tensor:
        low = self._masked(cosines, math.inf).amin(1, keepdim=True)
        high = self._masked(cosines, -math.inf).amax(1, keepdim=True)
        extent = high - low
        # Cosines that differ only by rounding count as equal.
        equal = extent <= 16 * torch.finfo(cosines.dtype).eps
        scores = torch.where(equal, 1.0, (cosines - low) / torch.where(equal, 1.0, extent))
        return self._masked(scores, 0.0)

    def _masked(self, values: Tensor, filler: float) -> Tensor:
        return values.masked_fill(~self.mask, filler)


def _norm(vectors: Tensor) -> Tensor:
    """Return the lengths of vectors, at least 1e-8, so that a cosine is always a number."""
    lengths: Tensor = torch.linalg.vector_norm(vectors, dim=-1)
    return lengths.clamp_min(1e-8)


def integrate(turns: list[Tensor], betas: list[Tensor], strategy: Strategy) -> Tensor:
    """Integrate the turns into one attention [S, L], or one embedding [S, L, H], without parameters (POI-Net, 2.3).

    Args:
        turns: s-hat of each turn, [S, L] each, or E^t, [S, L, H] each.
        betas: Confidence of each turn, [S, 1] each, or [S, 1, 1].
        strategy: The strategy; ``gate`` only with a single turn, which every strategy leaves unchanged.
    """
    if len(turns) == 1:
        return turns[0]
    if strategy == "forgetting":
        integrated = turns[0]
        for turn, beta in zip(turns[1:], betas[1:], strict=True):
            integrated = (integrated + beta * turn) / (1 + beta)
        return integrated
    # The other strategies are weighted averages over turns.
    turn_weights = torch.stack(betas)  # [T, S, 1] or [T, S, 1, 1]
    if strategy == "average":
        turn_weights = torch.ones_like(turn_weights)
    elif strategy == "intuition":
        turn_weights = turn_weights.cumprod(0)
    return (turn_weights * torch.stack(turns)).sum(0) / turn_weights.sum(0)


class Gate(nn.Module):
    """Gates instead of the forgetting strategy (POI-Net, footnote 3).

    The footnote names the "method of activation functions in LSTM", which "may filter out information completely in one
    single-turn calculation", and prints no equation. The form here is the cell of an LSTM with one number for each
    token: a^1 = s-hat^1; then f^t = sigmoid(w_f . x^t + b_f), i^t = sigmoid(w_i . x^t + b_i) and
    a^t = f^t a^(t-1) + i^t s-hat^t, where x^t = [a^(t-1), s-hat^t, beta^t]. Eight parameters serve all tokens of both
    domains in all turns. They start near a^t = (a^(t-1) + s-hat^t) / 2; unlike an average, a^t may exceed one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(2, 3).normal_(std=0.02))  # w_f, w_i
        self.bias = nn.Parameter(torch.zeros(2))  # b_f, b_i

    def forward(self, scores: list[Tensor], betas: list[Tensor], turns: list[Tensor]) -> Tensor:
        """Integrate the turns, their scores [S, L] or embeddings [S, L, H], by gates of scores and betas [S, 1]."""
        attention, integrated = scores[0], turns[0]
        for score, beta, turn in zip(scores[1:], betas[1:], turns[1:], strict=True):
            forget, take = (
                torch.sigmoid(attention_weight * attention + score_weight * score + beta_weight * beta + bias)
                for (attention_weight, score_weight, beta_weight), bias in zip(self.weight, self.bias, strict=True)
            )
            attention = forget * attention + take * score
            integrated = attention if turns is scores else forget.unsqueeze(-1) * integrated + take.unsqueeze(-1) * turn
        return integrated


PART = IterativeCoAttention
