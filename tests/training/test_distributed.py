"""Processes that know of each other."""

import signal

import pytest
import torch
from accelerate import PartialState

from coattend.errors import CoattendError
from coattend.training.distributed import ShardedCollator, broadcast_from_main, launch


def own_place(number: int) -> tuple[tuple[int, int], int, int]:
    process = PartialState()
    with process.main_process_first():
        rank = process.process_index
    return (rank, process.num_processes), broadcast_from_main(lambda: number + rank), rank


def joined(examples: str) -> dict[str, str]:
    return {"examples": "".join(examples)}


def one_window(_: str) -> int:
    return 1


def refuse() -> None:
    if not PartialState().is_main_process:
        raise CoattendError("is odd")


def test_the_first_process_speaks_for_all():
    answered = signal.getsignal(signal.SIGINT)
    assert launch(own_place, 7, processes=2, name="test") == ((0, 2), 7, 0)
    assert signal.getsignal(signal.SIGINT) is answered


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [None, "6"])
def test_processes_share_the_threads_of_the_one_that_starts_them(monkeypatch, chosen):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if chosen is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", chosen)
    threads = torch.get_num_threads()
    torch.set_num_threads(6)
    try:
        assert launch(torch.get_num_threads, processes=2, name="test") == 3
    finally:
        torch.set_num_threads(threads)


@pytest.mark.slow
def test_a_process_that_fails_is_told_of():
    with pytest.raises(CoattendError, match=r"process 1 of the training failed: .*is odd"):
        launch(refuse, processes=2, name="test")


def test_alone_nothing_is_shared():
    assert own_place(7) == ((0, 1), 7, 0)


@pytest.mark.parametrize(("rank", "expected", "share"), [(0, "adg", 9 / 7), (1, "be", 6 / 7), (2, "cf", 6 / 7)])
def test_a_share_is_every_so_many_th_question(rank, expected, share):
    batch = ShardedCollator(joined, one_window, 7, rank, 3)("abcdefg")
    assert batch["examples"] == expected
    assert batch["loss_weight"] == pytest.approx(share)
    assert batch["batch_weight"] == 1


def test_a_process_without_a_question_learns_nothing_from_the_one_that_it_reads():
    assert ShardedCollator(joined, one_window, 2, 2, 3)("ab")["loss_weight"] == 0


@pytest.mark.parametrize(("rank", "expected", "share"), [(0, "ace", 2 * 7 / 9), (1, "bd", 2 * 2 / 9)])
def test_a_question_with_several_windows_has_a_loss_for_each(rank, expected, share):
    batch = ShardedCollator(joined, lambda example: 5 if example == "c" else 1, 9, rank, 2)("abcde")
    assert batch["examples"] == expected
    assert batch["loss_weight"] == pytest.approx(share)


@pytest.mark.parametrize(("batch", "weight"), [("a", 1 / 4), ("abcd", 1), ("abcdefgh", 2)])
def test_a_batch_weighs_as_much_as_it_has_terms(batch, weight):
    assert ShardedCollator(joined, one_window, 4, 0, 1)(batch)["loss_weight"] == weight
