"""What gives inputs: it counts, keeps what breaks a door, and begins anew after one that ends the process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz.door import Door

from fuzz import giving, limits

ROOT = Path(__file__).parents[2]


def order(folder):
    return giving.Order("dream", folder, "0", 10, None, False)


def breaks_at_a(file):
    if b"a" in file.read_bytes():
        raise IndexError("an a")


def test_what_breaks_a_door_is_kept_once(tmp_path, monkeypatch, capsys):
    giver = giving.Giver(order(tmp_path))
    giver.door = Door("any", (b"b",), breaks_at_a, ".txt")
    for content in (b"b", b"a", b"aa"):
        giver.give(content)
    giver.tell(ended=True)
    assert json.loads(giver._order.report.read_text()) == {"given": 3, "taken": 1, "found": 1, "ended": True}
    (kept,) = tmp_path.glob("broke-*")
    assert kept.read_bytes() == b"a"
    assert "IndexError: an a" in capsys.readouterr().out


def test_what_takes_too_long_or_too_much_is_told(monkeypatch):
    monkeypatch.setattr(limits, "SECONDS", 0.2)
    with pytest.raises(limits.TooSlow), limits.bounded():
        while True:
            pass
    monkeypatch.setattr(limits, "MEMORY", -1)
    with pytest.raises(limits.TooLarge), limits.bounded():
        pass


def test_the_command_counts():
    command = [sys.executable, "-m", "fuzz", "--inputs", "30", "--door", "annotations", "--no-atheris"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("annotations: 30 inputs, ")
