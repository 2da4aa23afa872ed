"""The contract of every reader: by default each named one, each head and each option, slowly the whole matrix."""

from dataclasses import replace

import pytest
import tiny
import torch

from coattend import readers
from coattend.readers.composition import compose
from coattend.readers.reader import Reader

VARIANTS = [
    ("plain", "options", {"pooling": "cls_pooler"}),
    ("plain", "options", {"pooling": "max", "fuse": "concatenate", "tag_embedding": True}),
    ("plain", "span", {"tag_embedding": True, "loss": "mean", "score": "softmax"}),
    ("plain", "options", {"pooling": "last"}),
    ("poi_net", "options", {"turns": 0}),
    ("poi_net", "options", {"turns": 2, "strategy": "average", "pooling": "mean"}),
    ("poi_net", "options", {"strategy": "weighted", "fuse": "multiply"}),
    ("poi_net", "span", {"turns": 2, "strategy": "intuition"}),
    ("poi_net", "options", {"beta": "learned", "compared": "attended"}),
    ("poi_net", "options", {"strategy": "gate", "pooling": "mean"}),
    ("poi_net", "options", {"integrate": "embeddings"}),
    ("duma", "options", {"fuse": "multiply", "layers": 2, "output_projection": True, "heads": 2}),
    ("duma", "options", {"direction": "passage_to_question", "fuse": "joint", "pooling": "max"}),
    ("duma", "options", {"direction": "question_to_passage"}),
    ("recam_duma", "options", {"order": "passage_first", "layers": 2, "share_layers": False, "scorer_layers": 2}),
    ("recam_duma", "options", {"order": "both"}),
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
    ("cas_reader", "word", {"merge": "sum", "context": True}),
    ("ga_reader", "word", {"gate": "query"}),
    ("plain_apart", "options", {"apart_layers": 1, "streams": "both"}),
    ("duma_apart", "options", {"segments": "blind", "layers": 2}),
    ("poi_net_apart", "span", {"segments": "blind"}),
    ("dcn", "dynamic_span", {"over_iterations": "mean", "iterations": 2, "directions": 2}),
    ("dcn_plus", "dynamic_span", {"objective": "policy", "decoder_hidden": 7, "answer": "proposal"}),
]

SHIFT_INVARIANT = {
    "key.bias": "adds the same to every score of a query's softmax",
    "layer.1.output.LayerNorm.bias": "ends BERT, so it adds the same to what a linear layer scores every option by",
    "interaction.value.bias": "ends soft attention, whose weights sum to one, so it adds the same to every vector",
    "attend.value.bias": "ends one layer of co-attention likewise, which only adds and scales where nothing follows",
    "attend.0.norm.bias": "ends both streams of sequential co-attention where neither is first, likewise",
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
"""Families of encoders for each encoder, the one that is tested by default first."""


def families(name):
    return FAMILIES[readers.encoder_of(name)]


def with_family(number, cases):
    return [(families(case[0])[number], *case) for case in cases]


def params(cases, *marks):
    return [pytest.param(case, id="-".join([*case[:3], *map(str, case[3].values())]), marks=marks) for case in cases]


TRAINED = [name for name in readers.names() if readers.is_trained(name)]
NAMED = [(name, head, {}) for name in TRAINED for head in readers.heads_of(name)]
FITTING = [capability for capability in readers.capabilities() if capability.reason is None]
FITTING += [row for row in readers.capabilities(passage="apart") if row.reason is None]
MATRIX = [("bert", capability.reader, capability.head, capability.options) for capability in FITTING]
OF_WORDS = [("words", *case[1:]) for case in MATRIX if case[1].startswith("recurrent")]

FIRST_WITH = {head: name for name, head, _ in reversed(NAMED)}
COVERING = [case for case in NAMED if readers.heads_of(case[0])[0] == case[1] or FIRST_WITH[case[1]] == case[0]]
"""Each reader with its first head, and each head with its first reader."""

OTHER_PAIRS = [case for case in NAMED if case not in COVERING]
SLOW = params(with_family(0, OTHER_PAIRS) + with_family(1, NAMED + VARIANTS) + MATRIX, pytest.mark.slow)
CASES = params(with_family(0, COVERING + VARIANTS)) + SLOW
WITHOUT_VARIANTS = params(with_family(0, COVERING)) + params(with_family(0, VARIANTS), pytest.mark.slow) + SLOW
"""By default, rounding and files are tested of each part as it is, options of parts with `make test-full`."""

also_of_words = pytest.mark.parametrize("case", CASES + params(OF_WORDS, pytest.mark.slow), indirect=True)
"""With every combination that reads words, as well as the cases of all tests."""


@pytest.fixture(scope="module")
def case(request):
    return request.param


def build(case, **overrides):
    family, name, head, options = case
    torch.manual_seed(0)
    defaults = compose(name, head, {}).options
    small = {option: width for option, width in SMALL.items() if defaults.get(option)}
    return readers.build(name, encoder=tiny.encoder(family), head=head, dropout=0.0, **small | options | overrides)


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
    """Return the scores of each question, without padding."""
    if output.scores is not None or output.word_mass is not None:
        scores = output.word_mass if output.scores is None else output.scores
        counts = [
            len(question.options) if len(question.options) > 1 else len(question.candidates) for question in questions
        ]
        if output.scores is None:
            counts = [len(set(question.passage)) for question in questions]
        return [row[:count] for row, count in zip(scores, counts, strict=True)]
    lengths = [2 + len(question.passage) for question in questions]
    return [torch.stack([s[:n], e[:n]]) for s, e, n in zip(output.start, output.end, lengths, strict=True)]


def decisions(output, questions):
    """Return the option or word, or the start and end, that a reader takes for each question."""
    return [scores.argmax(-1).tolist() for scores in answers(output, questions)]


@also_of_words
def test_answers_have_their_shapes_and_change_neither_with_padding_nor_with_the_batch(case, task, reader, questions):
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
        padding = batch.option_index < 0 if task == "options" else batch.candidates == -2
        assert (output.scores is None) == (case[3].get("choose") == "document")
        if output.scores is not None:
            assert torch.equal(output.scores == -torch.inf, padding)
    if case[2] == "word":
        assert output.word_mass.shape == batch.word_groups.shape
        assert output.word_mass.sum(1).max() < 1 + 1e-9
    assert output.loss.shape == ()
    assert output.loss.isfinite()
    assert reader(replace(batch, label=None, start=None, end=None)).loss is None
    # Padding and the other questions of a batch change nothing.
    tight, loose = (reader(tiny.batch(questions, padding=padding, task=task)) for padding in (0, 5))
    rows = zip(questions, answers(tight, questions), answers(loose, questions), strict=True)
    for question, unpadded, padded in rows:
        (alone,) = answers(reader(tiny.batch([question], task=task)), [question])
        torch.testing.assert_close(alone, unpadded, rtol=0, atol=1e-9)
        torch.testing.assert_close(padded, unpadded, rtol=0, atol=1e-9)
    torch.testing.assert_close(tight.loss, loose.loss, rtol=0, atol=1e-9)


def train_on(reader, batch):
    torch.manual_seed(0)  # Some parts learn only from what is drawn in training.
    return reader.train()(batch)


@also_of_words
def test_every_parameter_learns_but_for_shifts_that_change_no_answer(case, task):
    options = (3, 5, 4) if task == "options" else (5,)
    batch = tiny.batch([tiny.question(n, passage=3 + n, options=options) for n in range(12)], task=task)
    without_gradient = None
    # Up to three points, as a maxout is flat where one of its values wins for every token.
    for seed in range(3):
        reader = tiny.scatter(build(case), seed=seed, deviation=0.2 + seed / 2)
        train_on(reader, batch).loss.backward()
        learning = {name: parameter for name, parameter in reader.named_parameters() if parameter.requires_grad}
        assert all(parameter.grad is not None for parameter in learning.values())
        silent = {name for name, parameter in learning.items() if parameter.grad.abs().max() <= 1e-12}
        without_gradient = silent if without_gradient is None else without_gradient & silent
        if all(name.endswith(tuple(SHIFT_INVARIANT)) for name in without_gradient):
            break
    frozen = {name for name, parameter in reader.named_parameters() if not parameter.requires_grad}
    assert all(name.startswith("encoder.context.") for name in frozen)
    assert all(name.endswith(tuple(SHIFT_INVARIANT)) for name in without_gradient), without_gradient
    if not without_gradient:
        return
    before = train_on(reader, batch).loss
    with torch.no_grad():
        for name in without_gradient:
            reader.get_parameter(name).add_(1e-5)
    torch.testing.assert_close(train_on(reader, batch).loss, before, rtol=0, atol=1e-9)


@pytest.mark.parametrize("case", WITHOUT_VARIANTS + params(OF_WORDS, pytest.mark.slow), indirect=True)
def test_it_loads_as_it_was_saved(case, questions, task, tmp_path):
    reader = tiny.scatter(build(case)).float()
    reader.save(tmp_path / "reader")
    loaded = Reader.load(tmp_path / "reader")
    assert sorted(path.name for path in (tmp_path / "reader").iterdir()) == ["model.safetensors", "reader.json"]
    assert loaded.config == reader.config
    assert loaded.state_dict().keys() == reader.state_dict().keys()
    assert all(torch.equal(tensor, loaded.state_dict()[name]) for name, tensor in reader.state_dict().items())
    batch = tiny.batch(questions, task=task)
    for expected, scores in zip(answers(reader(batch), questions), answers(loaded(batch), questions), strict=True):
        assert torch.equal(expected, scores)


@pytest.mark.parametrize("case", WITHOUT_VARIANTS, indirect=True)
def test_float32_answers_are_those_of_float64_and_bf16_autocast_gives_float32_answers(case, reader, questions, task):
    single = build(case)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = single(tiny.batch(questions, task=task))
    assert rounded.loss.dtype == torch.float32
    scores = answers(rounded, questions)
    assert all(row.dtype == torch.float32 for row in scores)
    values = torch.cat([row[row.isfinite()] for row in scores])
    assert (values != values.bfloat16().float()).any(), "answers that differ in float32 would tie"
    # From here on with the weights of the reader in float64, whatever the batch.
    single.load_state_dict({name: value.float() for name, value in reader.state_dict().items()})
    exact = answers(reader(tiny.batch(questions, task=task)), questions)
    together = answers(single(tiny.batch(questions, task=task)), questions)
    for question, expected, scores in zip(questions, exact, together, strict=True):
        (alone,) = answers(single(tiny.batch([question], task=task)), [question])
        torch.testing.assert_close(alone, scores, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(alone.double(), expected, rtol=1e-4, atol=1e-4)


def easy_question(seed, task):
    """Draw a question whose correct option or word, or whose answer in the passage, is a unique token.

    If it occurred twice, the reader would choose between two tokens that hardly differ.
    """
    question = tiny.question(seed, passage=9 + seed % 7, options=(3, 5, 4) if task == "options" else (4,))
    position = seed % len(question.passage)
    for tokens in (question.passage, *question.options):
        tokens[:] = [(max(token, TELLTALE[0] + 1), tag) for token, tag in tokens]
    if task == "options":
        question.options[question.label][0] = TELLTALE
        return question
    wrong = [token for token in question.candidates[:-1] if token != TELLTALE[0]]
    question.passage[position] = TELLTALE
    candidates = [*wrong[: seed % 3], TELLTALE[0], *wrong[seed % 3 :]]
    gold = candidates.index(TELLTALE[0])
    return replace(question, span=(position, position), candidates=tuple(candidates), word=gold)


TRAINED_BY_DEFAULT = [
    ("poi_net", "options"),
    ("duma", "span"),
    ("aoa_reader", "word"),
    ("dcn", "dynamic_span"),
    ("stanford_reader", "vocabulary"),
]
"""A reader with each head."""

TRAINED = [case for case in with_family(0, NAMED) if case[1:3] not in TRAINED_BY_DEFAULT]


@pytest.mark.parametrize(
    "case",
    params(with_family(0, [(*case, {}) for case in TRAINED_BY_DEFAULT])) + params(TRAINED, pytest.mark.slow),
    indirect=True,
)
def test_bf16_decides_as_float32_does_once_something_is_learned(case, task):
    reader = build(case).train()
    optimizer = torch.optim.Adam(reader.parameters(), lr=1e-2)
    size = 8 if task == "span" else 16
    for step in range(100):
        optimizer.zero_grad()
        batch = tiny.batch([easy_question(seed, task) for seed in range(size * step, size * step + size)], task=task)
        reader(batch).loss.backward()
        optimizer.step()
    reader.eval()
    questions = [easy_question(seed, task) for seed in range(2000, 2300)]
    batch = tiny.batch(questions, task=task)
    with torch.inference_mode():
        exact = decisions(reader(batch), questions)
        with torch.autocast("cpu", torch.bfloat16):
            rounded = decisions(reader(batch), questions)
    gold = {
        "options": lambda question: question.label,
        "word": lambda question: question.word,
        "span": lambda question: [question.span[0] + 1] * 2,
    }[task]
    correct = sum(decision == gold(question) for decision, question in zip(exact, questions, strict=True))
    assert correct > 0.5 * len(questions)
    agreement = sum(decision == coarse for decision, coarse in zip(exact, rounded, strict=True))
    assert agreement >= 0.99 * len(questions)
