"""What readers look at, and what hiding a word does, on questions of the sample."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from coattend import readers
from coattend.configuration import benchmark_entry
from coattend.parameters import BenchmarkParameters, EncoderParameters, ReaderParameters, TokenizerParameters
from coattend.readers.batch import Batch
from coattend.readers.encoders.pretrained import encoder_folder
from coattend.readers.encoders.words import UNKNOWN
from coattend.text.tagset import ERR
from coattend.training.chosen import chosen
from coattend.training.looking import look
from coattend.training.occlusion import Hiding, occlude
from coattend.training.plans import plan_of

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
    tables = sample.questions, sample.passages, sample.stored_tokens, sample.tags if words else None
    plan = plan_of(*tables, benchmark, parameters, EncoderParameters(), TokenizerParameters())
    torch.manual_seed(0)
    reader = plan.build(plan.training_questions()[0])
    with torch.no_grad():
        for parameter in [*reader.interaction.parameters(), *reader.head.parameters()]:
            parameter.add_(0.1 * torch.randn_like(parameter))
    asked = plan.source.scored(plan.training)
    return reader, plan, asked, asked.examples[0]


@pytest.mark.parametrize("name", OF_SUBWORDS + OF_WORDS)
def test_maps_lie_on_real_tokens_and_shares_add_up(sample, name):
    reader, plan, asked, example = read_by(sample, name)
    seen = look(reader, plan, asked, example)
    assert seen.sequences[0].maps
    assert not reader.interaction.keep_maps
    for row, sequence in enumerate(seen.sequences):
        assert len(sequence.passage) == int(seen.batch.passage_mask[row].sum())
        assert len(sequence.question) == int(seen.batch.question_mask[row].sum())
        passage = asked.texts[example.question_id]
        assert all(passage[one.start : one.end] == one.text for one in sequence.passage if one.start is not None)
        for key, found in sequence.maps.items():
            reading = seen.legend[key]
            side = sequence.passage if reading.seen == "passage" else sequence.question
            assert found.shape[1] == len(side), key
            assert (found >= 0).all()
            if reading.kind == "score":
                assert found.max() <= 1 + 1e-6
            elif key in SENTINELS:  # They take a share that is not shown, in DCN+'s first layer.
                assert (found.sum(1) < 1 + 1e-5).all()
            else:
                np.testing.assert_allclose(found.sum(1), 1, atol=1e-5, err_msg=key)


def test_the_streams_of_a_question_and_its_option_are_told_apart(sample):
    reader, plan, asked, _ = read_by(sample, "dcmn")
    example = next(one for one in asked.examples if len(one.sequences[0]) == 2)
    sequence = look(reader, plan, asked, example).sequences[0]
    of_option = [place for place, one in enumerate(sequence.question) if one.domain == "option"]
    others = [place for place, one in enumerate(sequence.question) if one.domain == "question"]
    assert (sequence.maps["passage_option_attention"][:, others] == 0).all()
    assert (sequence.maps["passage_question_attention"][:, of_option] == 0).all()


def test_a_reader_of_spans_shows_its_softmaxed_logits(sample):
    reader, plan, asked, example = read_by(sample, "plain", head="span")
    seen = look(reader, plan, asked, example)
    assert seen.sequences[0].maps.keys() == {"start", "end"}
    for key in ("start", "end"):
        expected = getattr(seen.output, key)[0].softmax(-1).numpy()
        np.testing.assert_allclose(seen.sequences[0].maps[key][0], expected[: len(seen.sequences[0].passage)])


def slow_probabilities(reader, passage, question, options):
    """Each option read alone, from its texts, by the tokenizer's own rules."""
    tokenizer = AutoTokenizer.from_pretrained(encoder_folder("embedded"))
    scores = []
    for option in options:
        made = tokenizer(passage, f"{question} {option}", return_tensors="pt")
        ids, types = made["input_ids"], made["token_type_ids"]
        passage_length = int((types == 0).sum())
        asked = torch.arange(passage_length, ids.shape[1])[None]
        batch = Batch(
            input_ids=ids,
            attention_mask=torch.ones_like(ids, dtype=torch.bool),
            token_type_ids=types,
            tag_ids=torch.ones_like(ids),
            passage_mask=torch.ones(1, passage_length, dtype=torch.bool),
            question_index=asked,
            question_mask=torch.ones_like(asked, dtype=torch.bool),
            option_index=torch.zeros(1, 1, dtype=torch.long),
        )
        with torch.inference_mode():
            scores.append(float(reader(batch).scores[0, 0]))
    return torch.tensor(scores).softmax(-1)


def test_hiding_words_does_what_reading_masked_texts_one_by_one_does(sample):
    reader, plan, asked, _ = read_by(sample, "plain")
    example = next(one for one in asked.examples if len(one.sequences[0]) == 2)
    plan = replace(plan, training=plan.training.model_copy(update={"tokens_per_batch": 2048}))
    seen = look(reader, plan, asked, example)
    made = chosen(seen.output, seen.batch, max_length=30, threshold=None)
    found = occlude(reader, plan, asked, example, made)

    row, passage = asked.rows[example.question_id], asked.texts[example.question_id]
    tokenizer = AutoTokenizer.from_pretrained(encoder_folder("embedded"))
    words = passage.split()
    assert len(found.drops) == len(words)
    whole = slow_probabilities(reader, passage, row["question"], row["options"])
    assert int(whole.argmax()) == made.option
    for place, word in enumerate(words[:12]):
        masks = " ".join(["[MASK]"] * len(tokenizer.tokenize(word)))
        without = " ".join([*words[:place], masks, *words[place + 1 :]])
        read = slow_probabilities(reader, without, row["question"], row["options"])
        assert found.drops[place] == pytest.approx(float(whole[made.option] - read[made.option]), abs=1e-5)
    assert np.abs(found.drops).max() > 1e-4


@pytest.mark.parametrize(("name", "hidden_id"), [("poi_net", 103), ("aoa_reader", UNKNOWN)])
def test_only_one_word_of_each_copy_is_hidden(sample, name, hidden_id):
    reader, plan, asked, example = read_by(sample, name)
    hide = Hiding.of(plan, asked, plan.collator(reader, asked))
    words = np.full(example.windows[0][1] + plan.layout.count, -1)
    first = len(plan.layout.prefix)
    words[first : first + 3] = [0, 1, 1]
    whole, hidden = hide.copies(example, [None, None], words), hide.copies(example, [0, 1], words)
    rows = len(example.sequences)
    changed = whole.input_ids.ne(hidden.input_ids) | whole.tag_ids.ne(hidden.tag_ids)
    assert changed[:rows].any(0).nonzero().flatten().tolist() == [first]
    assert changed[rows:].any(0).nonzero().flatten().tolist() == [first + 1, first + 2]
    assert (hidden.input_ids[:rows, first] == hidden_id).all()
    assert (hidden.tag_ids[rows:, first + 1 : first + 3] == ERR).all()
    assert torch.equal(whole.passage_mask, hidden.passage_mask)


def test_pieces_beside_words_are_hidden_with_them(sample):
    reader, plan, asked, example = read_by(sample, "dcn_plus")
    if plan.pieces is None:
        pytest.skip("this reader reads no pieces beside its words")
    hide = Hiding.of(plan, asked, plan.collator(reader, asked))
    words = np.full(example.windows[0][1] + plan.layout.count, -1)
    words[3] = 0
    hidden = hide.copies(example, [0], words)
    inside = hidden.passage_piece_words == 3
    assert inside.any()
    assert (hidden.passage_pieces[inside] == hide.hidden_piece).all()
    assert (hidden.passage_pieces[~inside] != hide.hidden_piece).all()
