"""Attention maps of readers and occlusion of words, on questions of the sample."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from coattend import readers
from coattend.config import (
    BenchmarkParameters,
    EncoderParameters,
    ReaderParameters,
    TaggingParameters,
    TokenizerParameters,
)
from coattend.config.entries import benchmark_entry
from coattend.inference.attention_maps import trace_forward
from coattend.inference.occlusion import Occluder, occlude
from coattend.inference.predict import answer_questions
from coattend.readers.batch import Batch
from coattend.readers.encoders.pretrained import encoder_folder
from coattend.readers.encoders.word_embeddings import UNKNOWN
from coattend.text.tagset import ERR
from coattend.trials.build import build_collator, build_reader
from coattend.trials.experiment import BenchmarkTables, Experiment, ReaderSetup

OF_SUBWORDS = ("poi_net", "duma", "dcmn", "bidaf", "soft_attention")
OF_WORDS = ("cas_reader", "aoa_reader", "aoa_span", "ga_reader", "dcn_plus")
SMALL = {"hidden": 16, "vector_width": 8}
SENTINELS = ("sees_question", "sees_passage")


def read_by(sample, name, head=None, **options):
    """A reader that has learned nothing, with weights that are not all alike, and its questions."""
    words = readers.encoder_of(name) == "recurrent"
    benchmark = BenchmarkParameters.model_validate(benchmark_entry("sample") | {"name": "sample"})
    if words and name != "dcn_plus":
        options = SMALL | options
    parameters = ReaderParameters(name=name, reader=name, head=head, options=options)
    tags = sample.tags if words else None
    encoder = EncoderParameters(source=str(sample.encoder))
    experiment = Experiment.from_config(
        BenchmarkTables(sample.questions, sample.passages, sample.stored_tokens, tags, benchmark),
        ReaderSetup(parameters, encoder, TokenizerParameters(), TaggingParameters()),
    )
    torch.manual_seed(0)
    reader = build_reader(experiment, experiment.training_questions().train)
    with torch.no_grad():
        for parameter in [*reader.interaction.parameters(), *reader.head.parameters()]:
            parameter.add_(0.1 * torch.randn_like(parameter))
    questions = experiment.source.evaluation(experiment.training)
    return reader, experiment, questions, questions.examples[0]


@pytest.mark.parametrize("name", OF_SUBWORDS + OF_WORDS)
def test_maps_lie_on_real_tokens_and_shares_add_up(sample, name):
    reader, experiment, questions, example = read_by(sample, name)
    trace = trace_forward(reader, experiment, questions, example)
    assert trace.sequences[0].maps
    assert not reader.interaction.keep_maps
    for row, sequence in enumerate(trace.sequences):
        assert len(sequence.passage) == int(trace.batch.passage_mask[row].sum())
        assert len(sequence.question) == int(trace.batch.question_mask[row].sum())
        passage = questions.texts[example.question_id]
        assert all(
            passage[token.start : token.end] == token.text for token in sequence.passage if token.start is not None
        )
        for key, attention in sequence.maps.items():
            reading = trace.legend[key]
            side = sequence.passage if reading.seen == "passage" else sequence.question
            assert attention.shape[1] == len(side), key
            assert (attention >= 0).all()
            if reading.kind == "score":
                assert attention.max() <= 1 + 1e-6
            elif key in SENTINELS:  # They take a share that is not shown, in DCN+'s first layer.
                assert (attention.sum(1) < 1 + 1e-5).all()
            else:
                np.testing.assert_allclose(attention.sum(1), 1, atol=1e-5, err_msg=key)


def test_the_streams_of_a_question_and_its_option_are_told_apart(sample):
    reader, experiment, questions, _ = read_by(sample, "dcmn")
    example = next(token for token in questions.examples if len(token.sequences[0]) == 2)
    sequence = trace_forward(reader, experiment, questions, example).sequences[0]
    of_option = [index for index, token in enumerate(sequence.question) if token.domain == "option"]
    of_question = [index for index, token in enumerate(sequence.question) if token.domain == "question"]
    assert (sequence.maps["passage_option_attention"][:, of_question] == 0).all()
    assert (sequence.maps["passage_question_attention"][:, of_option] == 0).all()


def test_a_reader_of_spans_shows_its_softmaxed_logits(sample):
    reader, experiment, questions, example = read_by(sample, "plain", head="span")
    trace = trace_forward(reader, experiment, questions, example)
    assert trace.sequences[0].maps.keys() == {"start", "end"}
    for key in ("start", "end"):
        expected = getattr(trace.output, key)[0].softmax(-1).numpy()
        np.testing.assert_allclose(trace.sequences[0].maps[key][0], expected[: len(trace.sequences[0].passage)])


def slow_probabilities(reader, passage, question, options):
    """Each option read alone, from its texts, by the tokenizer's own rules."""
    tokenizer = AutoTokenizer.from_pretrained(encoder_folder("embedded"))
    scores = []
    for option in options:
        encoding = tokenizer(passage, f"{question} {option}", return_tensors="pt")
        ids, types = encoding["input_ids"], encoding["token_type_ids"]
        passage_length = int((types == 0).sum())
        question_index = torch.arange(passage_length, ids.shape[1])[None]
        batch = Batch(
            input_ids=ids,
            attention_mask=torch.ones_like(ids, dtype=torch.bool),
            token_type_ids=types,
            tag_ids=torch.ones_like(ids),
            passage_mask=torch.ones(1, passage_length, dtype=torch.bool),
            question_index=question_index,
            question_mask=torch.ones_like(question_index, dtype=torch.bool),
            option_index=torch.zeros(1, 1, dtype=torch.long),
        )
        with torch.inference_mode():
            scores.append(float(reader(batch).scores[0, 0]))
    return torch.tensor(scores).softmax(-1)


@pytest.mark.parametrize("name", ["plain", "plain_apart"])
def test_hiding_words_does_what_reading_masked_texts_one_by_one_does(sample, name):
    reader, experiment, questions, _ = read_by(sample, name)
    example = next(example for example in questions.examples if len(example.sequences[0]) == 2)
    experiment = replace(experiment, training=experiment.training.model_copy(update={"tokens_per_batch": 2048}))
    trace = trace_forward(reader, experiment, questions, example)
    answer = trace.answer
    occlusion = occlude(reader, experiment, questions, answer)

    row, passage = questions.rows[example.question_id], questions.texts[example.question_id]
    tokenizer = AutoTokenizer.from_pretrained(encoder_folder("embedded"))
    words = passage.split()
    assert len(occlusion.drops) == len(words)
    unmasked = slow_probabilities(reader, passage, row["question"], row["options"])
    assert int(unmasked.argmax()) == answer.choice
    for index, word in enumerate(words[:12]):
        masks = " ".join(["[MASK]"] * len(tokenizer.tokenize(word)))
        without = " ".join([*words[:index], masks, *words[index + 1 :]])
        read = slow_probabilities(reader, without, row["question"], row["options"])
        assert occlusion.drops[index] == pytest.approx(float(unmasked[answer.choice] - read[answer.choice]), abs=1e-5)
    assert np.abs(occlusion.drops).max() > 1e-4


@pytest.mark.parametrize("name", ["duma", "plain_apart"])
def test_a_word_is_hidden_in_all_windows_of_options(sample, name):
    reader, experiment, _, _ = read_by(sample, name)
    changes = {"max_length": 40, "stride": 8, "over_windows": "logsumexp", "precision": "fp32"}
    experiment = replace(experiment, training=experiment.training.model_copy(update=changes))
    questions = experiment.source.evaluation(experiment.training)
    example = max(questions.examples, key=lambda example: len(example.sequences))
    assert len(example.sequences) > example.option_count
    trace = trace_forward(reader, experiment, questions, example)
    answer, scores = trace.answer, trace.output.window_scores[0]
    window, choice = divmod(answer.sequence, example.option_count)
    assert (choice, window) == (answer.choice, int(scores[answer.choice].argmax()))
    assert len(trace.sequences) == len(example.sequences)
    occlusion = occlude(reader, experiment, questions, answer)

    # The slow way: another passage, whose tokens of the word are masks.
    tokens, text = questions.tokens, questions.texts[example.question_id]
    read = tokens.slice(example.passage)
    starts = [
        index for index in range(len(text)) if not text[index].isspace() and (not index or text[index - 1].isspace())
    ]
    word_of_token = np.searchsorted(starts, tokens.starts[read], side="right") - 1
    original = trace.output.scores[0].softmax(-1)[choice]
    inside = np.unique(word_of_token[slice(example.windows[answer.sequence][0], sum(example.windows[answer.sequence]))])
    for word in inside[:4]:
        ids, tags = tokens.input_ids.copy(), tokens.tag_ids.copy()
        ids[read][word_of_token == word], tags[read][word_of_token == word] = 103, ERR
        masked = replace(questions, tokens=replace(tokens, input_ids=ids, tag_ids=tags), examples=[example])
        (again,) = answer_questions(experiment, reader, masked)
        expected = float(original - torch.tensor(again.scores).softmax(-1)[choice])
        assert occlusion.drops[word] == pytest.approx(expected, abs=1e-5)
    assert set(np.flatnonzero(~np.isnan(occlusion.drops))) == set(inside)


@pytest.mark.parametrize(("name", "hidden_id"), [("poi_net", 103), ("aoa_reader", UNKNOWN)])
def test_only_one_word_of_each_copy_is_hidden(sample, name, hidden_id):
    reader, experiment, questions, example = read_by(sample, name)
    hide = Occluder.of(experiment, questions, build_collator(experiment, reader, questions))
    words = np.full(example.windows[0][1] + experiment.layout.count, -1)
    first = len(experiment.layout.prefix)
    words[first : first + 3] = [0, 1, 1]
    rows = len(example.sequences)
    unmasked, hidden = (hide.copies(example, masked, [words] * rows) for masked in ([None, None], [0, 1]))
    changed = unmasked.input_ids.ne(hidden.input_ids) | unmasked.tag_ids.ne(hidden.tag_ids)
    assert changed[:rows].any(0).nonzero().flatten().tolist() == [first]
    assert changed[rows:].any(0).nonzero().flatten().tolist() == [first + 1, first + 2]
    assert (hidden.input_ids[:rows, first] == hidden_id).all()
    assert (hidden.tag_ids[rows:, first + 1 : first + 3] == ERR).all()
    assert torch.equal(unmasked.passage_mask, hidden.passage_mask)


def test_pieces_beside_words_are_hidden_with_them(sample):
    reader, experiment, questions, example = read_by(sample, "dcn_plus")
    if experiment.alignment is None:
        pytest.skip("this reader reads no pieces beside its words")
    hide = Occluder.of(experiment, questions, build_collator(experiment, reader, questions))
    words = np.full(example.windows[0][1] + experiment.layout.count, -1)
    words[3] = 0
    hidden = hide.copies(example, [0], [words])
    inside = hidden.passage_piece_words == 3
    assert inside.any()
    assert (hidden.passage_pieces[inside] == hide.subword_mask).all()
    assert (hidden.passage_pieces[~inside] != hide.subword_mask).all()
