"""Spans that a head proposes itself, decoded beside the best pairs of a start and an end."""

import pytest
import torch

from coattend.batches.collator import Collator
from coattend.inference.decoding import SpanAnswer, decode, top_spans
from coattend.readers.batch import Batch
from coattend.readers.interfaces import Attended
from coattend.readers.reader import ReaderOutput


@pytest.fixture(params=["subwords", "words"])
def read(request, sample):
    return sample.read(request.param, "span")


@pytest.fixture
def batch_of(sample, read):
    """Examples of the sample, read in short windows, their batch, and random scores of their tokens."""
    questions = sample.rows("span")
    examples, _ = sample.build(questions, read, 40, stride=8)
    assert any(len(example.windows) > 1 for example in examples)
    collator = Collator(read.tokens, read.layout, "span")
    batch = Batch(**collator(examples))
    generator = torch.Generator().manual_seed(0)
    allowed = batch.answer_mask.clone()
    allowed[:, 0] = True
    start, end = (torch.randn(allowed.shape, generator=generator).masked_fill(~allowed, -torch.inf) for _ in range(2))
    return sample.passage_of(questions), examples, collator, batch, start, end


def decoded(batch_of, proposal):
    """Decode an output with or without proposals."""
    _, examples, collator, batch, start, end = batch_of
    attended = Attended(passage=None, question=None, passage_mask=batch.passage_mask, question_mask=batch.question_mask)
    output = ReaderOutput(attended=attended, start=start, end=end, proposal=proposal)
    options = {"collator": collator, "max_answer_length": 5, "softmaxed": False}
    return output, list(decode(output, batch, examples, **options))


def test_a_proposal_is_the_answer_and_of_several_windows_the_best_that_holds_text(batch_of, read):
    """Against a search window by window; positions are drawn, so that a third of them are out of order or nothing."""
    passages, examples, _, _, start, end = batch_of
    generator = torch.Generator().manual_seed(1)
    weights = torch.where(start > -torch.inf, 1.0, 0.0)
    weights[:, 0] = 3.0  # "No answer" is proposed now and then.
    proposal = torch.multinomial(weights, 2, replacement=True, generator=generator)
    proposal = torch.where(torch.rand(len(proposal), 1, generator=generator) < 0.5, proposal.sort(-1).values, proposal)
    _, answers = decoded(batch_of, proposal)
    before, row, seen = len(read.layout.prefix), 0, set()
    for example, answer in zip(examples, answers, strict=True):
        assert isinstance(answer, SpanAnswer)
        windows = range(row, row + len(example.windows))
        with_text = [r for r in windows if 0 < proposal[r, 0] <= proposal[r, 1]]
        score = {r: float(start[r, proposal[r, 0]] + end[r, proposal[r, 1]]) for r in windows}
        best = max(with_text or [row], key=score.__getitem__)
        first, last = proposal[best].tolist()
        assert (answer.sequence, answer.tokens) == (best - row, (first, last))
        assert answer.span_score == pytest.approx(score[best])
        assert answer.null_score == pytest.approx(min(float(start[r, 0] + end[r, 0]) for r in windows))
        text = passages[example.question_id][answer.start : answer.end]
        if with_text:
            shift = read.tokens.slice(example.passage).start + example.windows[best - row][0] - before
            where = int(read.tokens.starts[shift + first]), int(read.tokens.ends[shift + last])
            assert (answer.start, answer.end) == where
            assert text
        else:
            assert (answer.start, answer.end, text) == (0, 0, "")
        seen.add((bool(with_text), len(windows) > 1, last - first >= 5))
        row += len(example.windows)
    assert {case[0] for case in seen} == {case[1] for case in seen} == {True, False}
    assert any(long for with_text, _, long in seen if with_text), "no proposal is longer than the best spans may be"


def test_without_a_proposal_the_best_span_is_the_answer(batch_of):
    _, answers = decoded(batch_of, None)
    assert all(0 < answer.tokens[0] <= answer.tokens[1] < answer.tokens[0] + 5 for answer in answers)
    # Proposed, the same spans are the same answers.
    row, spans = 0, []
    for example, answer in zip(batch_of[1], answers, strict=True):
        spans += [answer.tokens if window == answer.sequence else (0, 0) for window in range(len(example.windows))]
        row += len(example.windows)
    assert decoded(batch_of, torch.tensor(spans))[1] == answers


def test_the_best_spans_of_a_window_begin_with_the_proposal(batch_of):
    batch, start = batch_of[3], batch_of[4]
    allowed = batch.answer_mask[0].nonzero().flatten().tolist()
    best = top_spans(decoded(batch_of, None)[0], batch, 0, max_length=5, softmaxed=False)
    for first, last in ((allowed[0], allowed[-1]), best[1][:2], (0, 0), (allowed[3], allowed[1])):
        proposal = torch.tensor([[first, last]] * len(start))
        spans = top_spans(decoded(batch_of, proposal)[0], batch, 0, max_length=5, softmaxed=False)
        others = [span for span in best if span[:2] != (first, last)]
        if 0 < first <= last:
            assert spans[0][:2] == (first, last)
            assert spans[1:] == others[:2]
        else:
            assert spans == others[:2]
