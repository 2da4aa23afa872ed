"""The contract of every reader, over the whole capability matrix and the options that change what is computed."""

from dataclasses import replace

import pytest
import tiny
import torch

from coattend import readers
from coattend.errors import CoattendError
from coattend.readers.reader import Reader

VARIANTS = [
    ("plain", "options", {"pooling": "cls_pooler"}),
    ("plain", "options", {"pooling": "max", "fuse": "concatenate", "tag_embedding": True}),
    ("plain", "span", {"tag_embedding": True, "loss": "mean", "score": "softmax"}),
    ("poi_net", "options", {"turns": 0}),
    ("poi_net", "options", {"turns": 2, "strategy": "average", "pooling": "mean"}),
    ("poi_net", "options", {"strategy": "weighted", "fuse": "multiply"}),
    ("poi_net", "span", {"turns": 2, "strategy": "intuition"}),
    ("poi_net", "options", {"beta": "learned", "compared": "attended"}),
    ("poi_net", "options", {"strategy": "gate", "pooling": "mean"}),
    ("duma", "options", {"fuse": "multiply", "layers": 2, "output_projection": True, "heads": 2}),
    ("duma", "options", {"direction": "passage_to_question", "fuse": "joint", "pooling": "max"}),
    ("duma", "options", {"direction": "question_to_passage"}),
    ("recam_duma", "options", {"order": "passage_first", "layers": 2, "share_layers": False, "scorer_layers": 2}),
    ("recam_duma", "options", {"heads": 3, "head_width": 5, "pooling": "max", "fuse": "multiply"}),
    ("soft_attention", "options", {"score": "additive"}),
    ("dcmn", "options", {"variant": "released"}),
    ("bidaf", "options", {"narrow": 0}),
    ("multi_head_block", "span", {"turns": 3}),
    ("duma", "options", {"block": "transformer", "layers": 2, "fuse": "sum"}),
    ("duma", "span", {"block": "transformer", "direction": "passage_to_question", "tag_embedding": True}),
]

SHIFT_INVARIANT = {
    "key.bias": "adds the same to every score of a query's softmax",
    "layer.1.output.LayerNorm.bias": "ends BERT, so it adds the same to what a linear layer scores every option by",
    "interaction.value.bias": "ends soft attention, whose weights sum to one, so it adds the same to every vector",
    "attend.value.bias": "ends one layer of co-attention likewise, which only adds and scales where nothing follows",
    "attend.after_feed_forward.bias": "ends a transformer block of co-attention likewise",
}
"""Ends of the names of parameters that cannot learn with some options, and why."""

TELLTALE = (tiny.FIRST_WORD, 5)
"""A token that gives an answer away, and its tag."""

CASES = [
    pytest.param((family, name, head, options), id=f"{family}-{name}-{head}-" + ",".join(map(str, options.values())))
    for family in ("bert", "albert")
    for name, head, options in [(one.reader, one.head, {}) for one in readers.capabilities()] + VARIANTS
]


@pytest.fixture(params=CASES, scope="module")
def case(request):
    return request.param


def build(case, **more):
    family, name, head, options = case
    torch.manual_seed(0)
    return readers.build(name, encoder=tiny.encoder(family), head=head, dropout=0.0, **options | more)


@pytest.fixture(scope="module")
def reader(case):
    return tiny.scatter(build(case))


@pytest.fixture(scope="module")
def questions(case):
    counts = [(3, 5, 4), (6, 2), (1, 4, 2, 3)] if case[2] == "options" else [(5,), (2,), (7,)]
    return [tiny.question(n, passage=length, options=counts[n]) for n, length in enumerate((9, 1, 14))]


def answers(output, questions):
    """What a reader says to each question, without padding."""
    if output.scores is not None:
        return [scores[: len(one.options)] for scores, one in zip(output.scores, questions, strict=True)]
    lengths = [2 + len(one.passage) for one in questions]
    return [torch.stack([s[:n], e[:n]]) for s, e, n in zip(output.start, output.end, lengths, strict=True)]


def decisions(output, questions):
    """The options, or the starts and ends, that a reader takes."""
    return [one.argmax(-1).tolist() for one in answers(output, questions)]


def test_it_returns_scores_of_options_or_of_starts_and_ends(case, reader, questions):
    batch = tiny.batch(questions, padding=2)
    output = reader(batch)
    if case[2] == "options":
        assert output.scores.shape == (3, 4)
        assert torch.equal(output.scores == -torch.inf, batch.option_index < 0)
        assert output.start is output.end is None
    else:
        allowed = batch.answer_mask.clone()
        allowed[:, 0] = True
        assert output.start.shape == output.end.shape == batch.passage_mask.shape
        assert torch.equal(output.start > -torch.inf, allowed)
        assert torch.equal(output.end > -torch.inf, allowed)
        assert output.scores is None
    assert output.loss.shape == ()
    assert output.loss.isfinite()


def test_without_answers_there_is_no_loss(reader, questions):
    batch = replace(tiny.batch(questions), label=None, start=None, end=None)
    assert reader(batch).loss is None


def test_a_batch_of_one_is_a_batch_of_many(reader, questions):
    together = answers(reader(tiny.batch(questions)), questions)
    for one, many in zip(questions, together, strict=True):
        (alone,) = answers(reader(tiny.batch([one])), [one])
        torch.testing.assert_close(alone, many, rtol=0, atol=1e-9)


def test_padding_changes_nothing(reader, questions):
    tight, loose = reader(tiny.batch(questions)), reader(tiny.batch(questions, padding=5))
    for one, other in zip(answers(tight, questions), answers(loose, questions), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)
    torch.testing.assert_close(tight.loss, loose.loss, rtol=0, atol=1e-9)


def test_every_parameter_learns_but_for_shifts_that_change_no_answer(reader, questions):
    batch = tiny.batch(questions)
    reader.zero_grad()
    output = reader(batch)
    output.loss.backward()
    for name, parameter in reader.named_parameters():
        assert parameter.grad is not None, name
        if parameter.grad.abs().max() > 1e-12:
            continue
        assert name.endswith(tuple(SHIFT_INVARIANT)), name
        with torch.no_grad():
            parameter.add_(1)
            moved = reader(batch)
            parameter.sub_(1)
        torch.testing.assert_close(moved.loss, output.loss, rtol=0, atol=1e-9)


def test_unknown_options_are_refused_with_those_that_exist(case):
    _, _, _, options = case
    with pytest.raises(CoattendError) as raised:
        build(case, tag_embeding=True)
    assert "'tag_embeding'" in str(raised.value)
    assert "Did you mean 'tag_embedding'?" in str(raised.value)
    assert all(option in str(raised.value) for option in options)


def test_it_loads_as_it_was_saved(case, questions, tmp_path):
    reader = tiny.scatter(build(case)).float()
    reader.save(tmp_path / "reader")
    loaded = Reader.load(tmp_path / "reader")
    assert sorted(path.name for path in (tmp_path / "reader").iterdir()) == ["model.safetensors", "reader.json"]
    assert loaded.config == reader.config
    assert loaded.state_dict().keys() == reader.state_dict().keys()
    assert all(torch.equal(one, loaded.state_dict()[name]) for name, one in reader.state_dict().items())
    batch = tiny.batch(questions)
    for one, other in zip(answers(reader(batch), questions), answers(loaded(batch), questions), strict=True):
        assert torch.equal(one, other)


def test_float32_answers_are_those_of_float64_whatever_the_batch(case, reader, questions):
    single = build(case)
    single.load_state_dict({name: value.float() for name, value in reader.state_dict().items()})
    exact = answers(reader(tiny.batch(questions)), questions)
    together = answers(single(tiny.batch(questions)), questions)
    for one, expected, many in zip(questions, exact, together, strict=True):
        (alone,) = answers(single(tiny.batch([one])), [one])
        torch.testing.assert_close(alone, many, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(alone.double(), expected, rtol=1e-4, atol=1e-4)


def test_bf16_autocast_gives_float32_answers(reader, case, questions):
    single = build(case)
    with torch.autocast("cpu", torch.bfloat16):
        output = single(tiny.batch(questions))
    assert output.loss.dtype == torch.float32
    assert all(one.dtype == torch.float32 for one in answers(output, questions))


def easy(seed, head):
    """A question whose right option, or whose answer in the passage, is one certain token."""
    made = tiny.question(seed, passage=9 + seed % 7, options=(3, 5, 4) if head == "options" else (4,))
    place = seed % len(made.passage)
    if head == "options":
        made.options[made.label][0] = TELLTALE
        return made
    made.passage[place] = TELLTALE
    return replace(made, span=(place, place))


@pytest.mark.parametrize("case", CASES[: len(readers.capabilities())], indirect=True)
def test_bf16_decides_as_float32_does_once_something_is_learned(case):
    taught = build(case).train()
    optimizer = torch.optim.Adam(taught.parameters(), lr=1e-2)
    for step in range(100):
        optimizer.zero_grad()
        taught(tiny.batch([easy(seed, case[2]) for seed in range(16 * step, 16 * step + 16)])).loss.backward()
        optimizer.step()
    taught.eval()
    many = [easy(seed, case[2]) for seed in range(2000, 2300)]
    with torch.inference_mode():
        exact = decisions(taught(tiny.batch(many)), many)
        with torch.autocast("cpu", torch.bfloat16):
            rounded = decisions(taught(tiny.batch(many)), many)
    right = [one.label if case[2] == "options" else [one.span[0] + 1] * 2 for one in many]
    assert sum(one == true for one, true in zip(exact, right, strict=True)) > 0.5 * len(many)
    assert sum(one == other for one, other in zip(exact, rounded, strict=True)) >= 0.99 * len(many)
