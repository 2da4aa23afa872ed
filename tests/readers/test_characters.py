"""The untrained encoder over characters: which it knows, that it learns, and that it is saved whole."""

import json

import pytest
import tiny
import torch

from coattend import readers
from coattend.readers.encoders.characters import UNKNOWN, character_configuration
from coattend.readers.reader import Reader

KNOWN = range(4, 40)
SIZE = {"id_count": tiny.VOCABULARY, "layers": 2, "hidden": 16, "heads": 4, "max_length": 64}
QUESTIONS = [tiny.question(0), tiny.question(1, passage=4)]


def build(name="plain", **options):
    torch.manual_seed(0)
    return readers.build(name, encoder=character_configuration(KNOWN, **SIZE), dropout=0.0, **options)


@pytest.mark.parametrize("options", [{}, {"tag_embedding": True}])
def test_characters_that_training_lacked_are_read_as_unknown(options):
    reader, batch = build(**options).double(), tiny.batch(QUESTIONS)
    scores = reader(batch).scores
    assert (batch.input_ids > max(KNOWN)).any()
    batch.input_ids[batch.input_ids > max(KNOWN)] = UNKNOWN
    torch.testing.assert_close(reader(batch).scores, scores, rtol=0, atol=0)
    batch.input_ids[batch.input_ids == UNKNOWN] = min(KNOWN)
    assert not torch.allclose(reader(batch).scores, scores)


def test_it_has_a_row_for_each_known_character_and_all_learn():
    reader = tiny.scatter(build(), deviation=0.1)
    table = dict(reader.named_parameters())["encoder.model.embeddings.word_embeddings.weight"]
    assert table.shape == (4 + len(KNOWN), 16)
    reader(tiny.batch(QUESTIONS)).loss.backward()
    read = tiny.batch(QUESTIONS).input_ids.unique()
    learned = table.grad.abs().sum(1) > 0
    assert learned.sum() == len(set(read[(read > 0) & (read <= max(KNOWN))].tolist()) | {UNKNOWN})
    assert not learned[0]


@pytest.mark.parametrize(("name", "head"), [("plain", "options"), ("poi_net", "span"), ("duma", "word")])
def test_it_is_saved_with_what_it_knows(name, head, tmp_path):
    reader, batch = build(name, head=head), tiny.batch(QUESTIONS, task=head)
    reader.save(tmp_path)
    assert json.loads((tmp_path / "reader.json").read_text())["encoder"]["known_ids"] == [0, 1, 2, 3, *KNOWN]
    again, answer = Reader.load(tmp_path)(batch), reader(batch)
    for field in ("scores", "start", "end"):
        before, after = getattr(answer, field), getattr(again, field)
        assert (before is None) == (after is None)
        assert before is None or torch.equal(before, after)
