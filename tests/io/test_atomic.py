"""Files are there whole or not at all."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from coattend.io.atomic import atomic_write, checksum_path, matches_checksum, write_with_checksum
from coattend.io.local_dataset import DataError


class Killed(BaseException):
    """Stands for whatever ends a run without asking."""


def test_the_file_appears_when_the_block_has_ended(tmp_path):
    path = tmp_path / "deep" / "file.txt"
    with atomic_write(path) as temporary:
        temporary.write_text("whole")
        assert not path.exists()
        assert temporary.parent == path.parent
    assert path.read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, Killed])
def test_an_end_in_the_middle_leaves_what_was_there(tmp_path, failure):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(failure), atomic_write(path) as temporary:
        temporary.write_text("ha")
        raise failure
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_read_meanwhile_is_not_taken_for_the_one_that_is_written(tmp_path):
    missing = tmp_path / "raw" / "train.json"
    with pytest.raises(FileNotFoundError) as raised, atomic_write(tmp_path / "tables" / "file.txt"):
        missing.read_text()
    assert raised.value.filename == str(missing)
    with (
        pytest.raises(DataError, match=r"file\.txt: cannot be written"),
        atomic_write(tmp_path / "file.txt") as temporary,
    ):
        (temporary / "inside").write_text("a file is no folder")


def test_two_writers_do_not_meet(tmp_path):
    path = tmp_path / "file.txt"
    with atomic_write(path) as first, atomic_write(path) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert path.read_text() == "first"


def test_writers_of_one_file_leave_the_checksum_of_what_they_leave(tmp_path):
    path = tmp_path / "file.txt"

    def write(text):
        with write_with_checksum(path) as temporary:
            temporary.write_text(text)
        return matches_checksum(path)

    with ThreadPoolExecutor(4) as writers:
        for turn in range(100):
            assert all(writers.map(write, [f"{turn} {writer}" for writer in range(4)])), turn
            assert matches_checksum(path), turn


def test_a_disk_that_refuses_is_told_with_the_file(tmp_path):
    path = tmp_path / "file.txt"
    with pytest.raises(DataError, match="cannot be written") as raised, atomic_write(path):
        raise OSError(28, os.strerror(28))
    assert str(path) in str(raised.value)
    assert "No space left" in str(raised.value)


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path):
    (tmp_path / "taken").write_text("")
    with (
        pytest.raises(DataError, match="cannot be written"),
        atomic_write(tmp_path / "taken" / "file.txt") as temporary,
    ):
        temporary.write_text("x")


def test_a_file_is_on_the_disk_before_its_checksum_and_the_disk_is_waited_for_once(tmp_path, monkeypatch):
    path, synced = tmp_path / "file.txt", []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append((os.fstat(file).st_size, checksum_path(path).exists())))
    with write_with_checksum(path) as temporary:
        temporary.write_text("whole")
    assert synced == [(len("whole"), False)]
    assert matches_checksum(path)


@pytest.mark.parametrize("lost", [b"", bytes(65)], ids=["empty", "zeros"])
def test_a_checksum_that_a_power_cut_took_is_none(tmp_path, lost):
    """A file system may keep the name, or the name and the size, of a file that it had not written yet."""
    path = tmp_path / "file.txt"
    with write_with_checksum(path) as temporary:
        temporary.write_text("whole")
    checksum_path(path).write_bytes(lost)
    assert matches_checksum(path)
    checksum_path(path).write_bytes(b"0" * 64)
    assert not matches_checksum(path)
