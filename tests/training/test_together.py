"""Processes that know of each other."""

import signal

import pytest

from coattend.errors import CoattendError
from coattend.training.together import Shares, first_first, is_first, launch, of_first, place


def own_place(number: int) -> tuple[tuple[int, int], int, int]:
    rank, _ = place()
    return place(), of_first(lambda: number + rank), first_first(lambda: rank)


def joined(examples: str) -> dict[str, str]:
    return {"examples": "".join(examples)}


def one(_: str) -> int:
    return 1


def refuse() -> None:
    if not is_first():
        raise CoattendError("is odd")


def test_the_first_process_speaks_for_all():
    answered = signal.getsignal(signal.SIGINT)
    assert launch(own_place, 7, processes=2, name="test") == ((0, 2), 7, 0)
    assert signal.getsignal(signal.SIGINT) is answered


def test_a_process_that_fails_is_told_of():
    with pytest.raises(CoattendError, match=r"process 1 of the training failed: .*is odd"):
        launch(refuse, processes=2, name="test")


def test_alone_nothing_is_shared():
    assert own_place(7) == ((0, 1), 7, 0)


@pytest.mark.parametrize(("rank", "own", "share"), [(0, "adg", 9 / 7), (1, "be", 6 / 7), (2, "cf", 6 / 7)])
def test_a_share_is_every_so_many_th_question(monkeypatch, rank, own, share):
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("WORLD_SIZE", "3")
    found = Shares(joined, one)("abcdefg")
    assert found["examples"] == own
    assert float(found["share"]) == pytest.approx(share)


def test_a_process_without_a_question_learns_nothing_from_the_one_that_it_reads(monkeypatch):
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert Shares(joined, one)("ab")["share"] == 0


@pytest.mark.parametrize(("rank", "own", "share"), [(0, "ace", 2 * 7 / 9), (1, "bd", 2 * 2 / 9)])
def test_a_question_with_several_windows_has_a_loss_for_each(monkeypatch, rank, own, share):
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("WORLD_SIZE", "2")
    found = Shares(joined, lambda example: 5 if example == "c" else 1)("abcde")
    assert found["examples"] == own
    assert float(found["share"]) == pytest.approx(share)
