"""The contract of every reader, over the whole capability matrix and the options that change what is computed."""

from dataclasses import replace

import pytest
import tiny
import torch

from coattend import readers
from coattend.errors import CoattendError
from coattend.readers.assembly import assemble
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
    ("soft_attention", "options", {"comparison": "additive"}),
    ("dcmn", "options", {"variant": "released"}),
    ("bidaf", "options", {"narrow": 0}),
    ("multi_head_block", "span", {"turns": 3}),
    ("duma", "options", {"block": "transformer", "layers": 2, "fuse": "sum"}),
    ("duma", "span", {"block": "transformer", "direction": "passage_to_question", "tag_embedding": True}),
    ("aoa_reader", "word", {"cell": "lstm", "tag_embedding": True, "choose": "document"}),
    ("as_reader", "word", {"directions": 1, "train_vectors": True, "normalise": "candidates"}),
    ("cas_reader", "word", {"merge": "max", "character_width": 4}),
    ("cas_reader", "word", {"merge": "average", "context": True}),
    ("dcn", "dynamic_span", {"over_iterations": "mean", "iterations": 2, "directions": 2}),
    ("dcn_plus", "dynamic_span", {"objective": "policy", "decoder_hidden": 7}),
]

SHIFT_INVARIANT = {
    "key.bias": "adds the same to every score of a query's softmax",
    "layer.1.output.LayerNorm.bias": "ends BERT, so it adds the same to what a linear layer scores every option by",
    "interaction.value.bias": "ends soft attention, whose weights sum to one, so it adds the same to every vector",
    "attend.value.bias": "ends one layer of co-attention likewise, which only adds and scales where nothing follows",
    "attend.after_feed_forward.bias": "ends a transformer block of co-attention likewise",
    "second.bias": "feeds a maxout, likewise",
    "last.bias": "ends a maxout: where one of its values is the greatest for every token, it adds the same to all",
}
"""Ends of the names of parameters that cannot learn with some options, and why."""

TELLTALE = (tiny.FIRST_WORD, 5)
"""A token that gives an answer away, and its tag."""

SMALL = {"hidden": 6, "pool": 5, "character_width": 4, "modelling": 4}
"""Widths of recurrent readers for these tests."""

FAMILIES = {"transformer": ("bert", "albert"), "recurrent": ("words", "bert")}


def families(name):
    return FAMILIES[readers.encoder_of(name)]


NAMED = [
    (family, name, head, {}) for name in readers.names() for head in readers.heads_of(name) for family in families(name)
]
MATRIX = [("bert", one.reader, one.head, one.options) for one in readers.capabilities() if one.reason is None]
OF_WORDS = [
    ("words", one.reader, one.head, one.options)
    for one in readers.capabilities()
    if one.reason is None and one.encoder == "recurrent"
]


def params(cases):
    return [pytest.param(case, id="-".join([*case[:3], *map(str, case[3].values())])) for case in cases]


CASES = params(NAMED + MATRIX + [(family, *variant) for variant in VARIANTS for family in families(variant[0])])

also_of_words = pytest.mark.parametrize("case", CASES + params(OF_WORDS), indirect=True)
"""With every combination that reads words, as well as the cases of all tests."""


@pytest.fixture(params=CASES, scope="module")
def case(request):
    return request.param


def build(case, **more):
    family, name, head, options = case
    torch.manual_seed(0)
    defaults = assemble(name, head, {}).options
    small = {option: width for option, width in SMALL.items() if defaults.get(option)}
    return readers.build(name, encoder=tiny.encoder(family), head=head, dropout=0.0, **small | options | more)


@pytest.fixture(scope="module")
def task(case):
    return readers.task_of(case[2])


@pytest.fixture(scope="module")
def reader(case):
    return tiny.scatter(build(case))


@pytest.fixture(scope="module")
def questions(task):
    counts = [(3, 5, 4), (6, 2), (1, 4, 2, 3)] if task == "options" else [(5,), (2,), (7,)]
    return [tiny.question(n, passage=length, options=counts[n]) for n, length in enumerate((9, 1, 14))]


def answers(output, questions):
    """What a reader says to each question, without padding."""
    if output.scores is not None or output.word_mass is not None:
        of_all = output.word_mass if output.scores is None else output.scores
        counts = [len(one.options) if len(one.options) > 1 else len(one.candidates) for one in questions]
        if output.scores is None:
            counts = [len(set(one.passage)) for one in questions]
        return [scores[:count] for scores, count in zip(of_all, counts, strict=True)]
    lengths = [2 + len(one.passage) for one in questions]
    return [torch.stack([s[:n], e[:n]]) for s, e, n in zip(output.start, output.end, lengths, strict=True)]


def decisions(output, questions):
    """The options or words, or the starts and ends, that a reader takes."""
    return [one.argmax(-1).tolist() for one in answers(output, questions)]


@also_of_words
def test_it_returns_scores_of_options_or_words_or_of_starts_and_ends(case, task, reader, questions):
    batch = tiny.batch(questions, padding=2, task=task)
    output = reader(batch)
    if task == "span":
        allowed = batch.answer_mask.clone()
        allowed[:, 0] = True
        assert output.start.shape == output.end.shape == batch.passage_mask.shape
        assert torch.equal(output.start > -torch.inf, allowed)
        assert torch.equal(output.end > -torch.inf, allowed)
        assert output.scores is None
    else:
        assert output.start is output.end is None
        none = batch.option_index < 0 if task == "options" else batch.candidates == -2
        assert (output.scores is None) == (case[3].get("choose") == "document")
        if output.scores is not None:
            assert torch.equal(output.scores == -torch.inf, none)
    if case[2] == "word":
        assert output.word_mass.shape == batch.word_groups.shape
        assert output.word_mass.sum(1).max() < 1 + 1e-9
    assert output.loss.shape == ()
    assert output.loss.isfinite()


def test_without_answers_there_is_no_loss(reader, questions, task):
    batch = replace(tiny.batch(questions, task=task), label=None, start=None, end=None)
    assert reader(batch).loss is None


def test_a_batch_of_one_is_a_batch_of_many(reader, questions, task):
    together = answers(reader(tiny.batch(questions, task=task)), questions)
    for one, many in zip(questions, together, strict=True):
        (alone,) = answers(reader(tiny.batch([one], task=task)), [one])
        torch.testing.assert_close(alone, many, rtol=0, atol=1e-9)


def test_padding_changes_nothing(reader, questions, task):
    tight, loose = (reader(tiny.batch(questions, padding=padding, task=task)) for padding in (0, 5))
    for one, other in zip(answers(tight, questions), answers(loose, questions), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)
    torch.testing.assert_close(tight.loss, loose.loss, rtol=0, atol=1e-9)


def trained(reader, batch):
    torch.manual_seed(0)  # Some parts learn only from what is drawn in training.
    return reader.train()(batch)


@also_of_words
def test_every_parameter_learns_but_for_shifts_that_change_no_answer(case, task):
    options = (3, 5, 4) if task == "options" else (5,)
    batch = tiny.batch([tiny.question(n, passage=3 + n, options=options) for n in range(12)], task=task)
    # Several places, as a maxout is flat where one of its values wins for every token.
    places = [tiny.scatter(build(case), seed=seed, deviation=0.2 + seed / 2) for seed in range(3)]
    quiet = set()
    for reader in places:
        trained(reader, batch).loss.backward()
        learning = {name: one for name, one in reader.named_parameters() if one.requires_grad}
        assert all(one.grad is not None for one in learning.values())
        silent = {name for name, one in learning.items() if one.grad.abs().max() <= 1e-12}
        quiet = silent if reader is places[0] else quiet & silent
    frozen = {name for name, one in places[0].named_parameters() if not one.requires_grad}
    assert all(name.startswith("encoder.context.") for name in frozen)
    assert all(name.endswith(tuple(SHIFT_INVARIANT)) for name in quiet), quiet
    for name in quiet:
        before = trained(places[0], batch).loss
        with torch.no_grad():
            places[0].get_parameter(name).add_(1e-5)
        torch.testing.assert_close(trained(places[0], batch).loss, before, rtol=0, atol=1e-9)


def test_unknown_options_are_refused_with_those_that_exist(case):
    _, _, _, options = case
    with pytest.raises(CoattendError) as raised:
        build(case, tag_embeding=True)
    assert "'tag_embeding'" in str(raised.value)
    assert "Did you mean 'tag_embedding'?" in str(raised.value)
    assert all(option in str(raised.value) for option in options)


@also_of_words
def test_it_loads_as_it_was_saved(case, questions, task, tmp_path):
    reader = tiny.scatter(build(case)).float()
    reader.save(tmp_path / "reader")
    loaded = Reader.load(tmp_path / "reader")
    assert sorted(path.name for path in (tmp_path / "reader").iterdir()) == ["model.safetensors", "reader.json"]
    assert loaded.config == reader.config
    assert loaded.state_dict().keys() == reader.state_dict().keys()
    assert all(torch.equal(one, loaded.state_dict()[name]) for name, one in reader.state_dict().items())
    batch = tiny.batch(questions, task=task)
    for one, other in zip(answers(reader(batch), questions), answers(loaded(batch), questions), strict=True):
        assert torch.equal(one, other)


def test_float32_answers_are_those_of_float64_whatever_the_batch(case, reader, questions, task):
    single = build(case)
    single.load_state_dict({name: value.float() for name, value in reader.state_dict().items()})
    exact = answers(reader(tiny.batch(questions, task=task)), questions)
    together = answers(single(tiny.batch(questions, task=task)), questions)
    for one, expected, many in zip(questions, exact, together, strict=True):
        (alone,) = answers(single(tiny.batch([one], task=task)), [one])
        torch.testing.assert_close(alone, many, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(alone.double(), expected, rtol=1e-4, atol=1e-4)


def test_bf16_autocast_gives_float32_answers(case, questions, task):
    single = build(case)
    with torch.autocast("cpu", torch.bfloat16):
        output = single(tiny.batch(questions, task=task))
    assert output.loss.dtype == torch.float32
    given = answers(output, questions)
    assert all(one.dtype == torch.float32 for one in given)
    values = torch.cat([one[one.isfinite()] for one in given])
    assert (values != values.bfloat16().float()).any(), "answers that differ in float32 would tie"


def easy(seed, task):
    """A question whose right option or word, or whose answer in the passage, is a token that stands nowhere else.

    Where it stood twice, the reader would choose between two places that hardly differ.
    """
    made = tiny.question(seed, passage=9 + seed % 7, options=(3, 5, 4) if task == "options" else (4,))
    place = seed % len(made.passage)
    for tokens in (made.passage, *made.options):
        tokens[:] = [(max(token, TELLTALE[0] + 1), tag) for token, tag in tokens]
    if task == "options":
        made.options[made.label][0] = TELLTALE
        return made
    others = [token for token in made.candidates[:-1] if token != TELLTALE[0]]
    made.passage[place] = TELLTALE
    candidates = [*others[: seed % 3], TELLTALE[0], *others[seed % 3 :]]
    return replace(made, span=(place, place), candidates=tuple(candidates), word=candidates.index(TELLTALE[0]))


LEARNT = [(families(name)[0], name, head, {}) for name in readers.names() for head in readers.heads_of(name)]


@pytest.mark.parametrize("case", params(LEARNT), indirect=True)
def test_bf16_decides_as_float32_does_once_something_is_learned(case, task):
    taught = build(case).train()
    optimizer = torch.optim.Adam(taught.parameters(), lr=1e-2)
    size = 8 if task == "span" else 16
    for step in range(100):
        optimizer.zero_grad()
        batch = tiny.batch([easy(seed, task) for seed in range(size * step, size * step + size)], task=task)
        taught(batch).loss.backward()
        optimizer.step()
    taught.eval()
    many = [easy(seed, task) for seed in range(2000, 2300)]
    batch = tiny.batch(many, task=task)
    with torch.inference_mode():
        exact = decisions(taught(batch), many)
        with torch.autocast("cpu", torch.bfloat16):
            rounded = decisions(taught(batch), many)
    right = {
        "options": lambda one: one.label,
        "word": lambda one: one.word,
        "span": lambda one: [one.span[0] + 1] * 2,
    }[task]
    assert sum(one == right(true) for one, true in zip(exact, many, strict=True)) > 0.5 * len(many)
    assert sum(one == other for one, other in zip(exact, rounded, strict=True)) >= 0.99 * len(many)
