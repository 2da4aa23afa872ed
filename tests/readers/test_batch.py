"""Batches."""

from dataclasses import replace

import tiny


def test_a_batch_moves_whole():
    batch = replace(tiny.batch([tiny.question(0)]), label=None)
    moved = batch.to("meta")
    assert moved.input_ids.device.type == moved.option_index.device.type == "meta"
    assert moved.label is None
