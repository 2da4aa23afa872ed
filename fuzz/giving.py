"""Gives a door one bad input after the other, in a process of its own."""

import hashlib
import json
import logging
import os
import time
import traceback
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from fuzz.limits import bound_addresses, bounded
from fuzz.mutations import mutated

KINDS = 20
"""A door that breaks in so many places gets no further input."""


class Order(NamedTuple):
    """What a process shall do.

    Attributes:
        door: Name of the door.
        folder: Where inputs lie, and where those stay that break it.
        seed: The same seed gives the same inputs.
        inputs: How many.
        seconds: When to stop; None: when all are given.
        guided: Whether atheris chooses them by what code they reach.
    """

    door: str
    folder: Path
    seed: str
    inputs: int
    seconds: float | None
    guided: bool

    @property
    def report(self) -> Path:
        """Where the process tells how far it came."""
        return self.folder / "report.json"


def give(order: Order) -> None:
    """Give a door its inputs."""
    logging.disable(logging.CRITICAL)
    if order.guided:
        import atheris

        with atheris.instrument_imports(include=["coattend"], enable_loader_override=False):
            giver = Giver(order)
        _guided(atheris, giver, order)
        return
    giver = Giver(order)
    giver.begin()
    chance = Random(f"{order.door} {order.seed}")
    while not giver.is_done():
        giver.give(mutated(chance.choice(giver.door.whole), chance))
    giver.tell(ended=True)


def _guided(atheris: Any, giver: "Giver", order: Order) -> None:
    corpus = order.folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for place, content in enumerate(giver.door.whole):
        (corpus / f"whole-{place}").write_bytes(content)

    def change(content: bytes, most: int, seed: int) -> bytes:
        chance = Random(seed)
        changed = mutated(content, chance) if chance.random() < 0.7 else atheris.Mutate(content, most)
        return changed[:most]

    def one(content: bytes) -> None:
        if giver.is_done():
            giver.tell(ended=True)
            os._exit(0)  # libFuzzer takes any exception for a finding.
        giver.give(content)

    number = int(hashlib.sha256(order.seed.encode()).hexdigest()[:7], 16) + 1
    options = ["fuzz", f"-seed={number}", "-max_len=100000", "-len_control=0", "-rss_limit_mb=0", "-timeout=0"]
    atheris.Setup([*options, "-verbosity=0", str(corpus)], one, custom_mutator=change)
    giver.begin()
    atheris.Fuzz()


class Giver:
    """A door and what was given to it.

    Args:
        order: What shall be done.
    """

    def __init__(self, order: Order) -> None:
        from fuzz.doors import door

        self._order, self.door = order, door(order.door)
        self._counts = {"given": 0, "taken": 0, "found": 0}
        self._seen: set[str] = set()
        self._until = float("inf")

    def begin(self) -> None:
        """Set limits, and the clock."""
        if not self.door.torch and not self._order.guided:
            bound_addresses()
        self._until = time.monotonic() + (float("inf") if self._order.seconds is None else self._order.seconds)
        for content in self.door.whole:
            assert self.door.takes(content, self._order.folder), "a whole input was refused"

    def is_done(self) -> bool:
        """Whether all was given, there is no time left, or it breaks everywhere."""
        given_all = self._counts["given"] >= self._order.inputs
        return given_all or time.monotonic() > self._until or len(self._seen) >= KINDS

    def give(self, content: bytes) -> None:
        """Give it an input; what breaks it is kept, once for each place that it breaks at."""
        if self._counts["given"] % 50 == 0:
            self.tell(ended=False)
        self._counts["given"] += 1
        try:
            with bounded():
                self._counts["taken"] += self.door.takes(content, self._order.folder)
        except Exception as error:
            self._note(error, content)

    def tell(self, *, ended: bool) -> None:
        """Write down how far it came."""
        self._order.report.write_text(json.dumps(self._counts | {"ended": ended}))

    def _note(self, error: Exception, content: bytes) -> None:
        place = _place(error)
        if place in self._seen:
            return
        self._seen.add(place)
        self._counts["found"] += 1
        kept = self._order.folder / f"broke-{hashlib.sha256(place.encode()).hexdigest()[:12]}"
        kept.write_bytes(content)
        told = "".join(traceback.format_exception(error, limit=-8))
        print(f"{self._order.door}: {kept}\n{told[-3000:]}", flush=True)


def _place(error: Exception) -> str:
    """What broke and where: the innermost line of this project, and the kind of error."""
    ours = [one for one in traceback.extract_tb(error.__traceback__) if "/coattend/" in one.filename]
    last = ours[-1] if ours else traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} {last.filename}:{last.lineno} {'' if ours else str(error)[:60]}"
