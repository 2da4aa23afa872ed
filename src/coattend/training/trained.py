"""Finished trials with the plan that each was trained by."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coattend import readers
from coattend.datasets.stored_tables import Profiles, StoredTables
from coattend.errors import CoattendError
from coattend.parameters import (
    BenchmarkParameters,
    EncoderParameters,
    ReaderParameters,
    TokenizerParameters,
)
from coattend.text.subwords import load_tokenizer
from coattend.training.finished import find_trial
from coattend.training.plan import Plan
from coattend.training.plans import plan_of
from coattend.training.predict import kept_predictions


@dataclass(frozen=True)
class Trained:
    """A trial that came to something.

    Attributes:
        content: What it was, as its ``trial.json`` says.
        outcome: What it came to, as its ``outcome.json`` says.
        folder: Where it lies.
    """

    content: dict[str, Any]
    outcome: dict[str, Any]
    folder: Path

    @property
    def id(self) -> str:
        """Its id."""
        return self.content["trial_id"]

    @property
    def benchmark(self) -> str:
        """What it was trained on."""
        return self.content["benchmark"]

    @classmethod
    def find(cls, store: Path, name: str, *, where: str) -> "Trained":
        """The trial whose id is, or begins with, a name.

        Args:
            store: The folder of all trials.
            name: An id, or the beginning of one.
            where: The parameter that names it.

        Raises:
            CoattendError: If there is none, or more than one, or it is not finished.
        """
        trial = find_trial(store, name, where)
        return cls(trial.content, json.loads((trial.folder / "outcome.json").read_text()), trial.folder)

    def plan(self, tables: StoredTables, benchmark: BenchmarkParameters, tagging: str | None) -> Plan:
        """The plan that it was trained by, over the tables as they are.

        Args:
            tables: The tables of its benchmark and of others.
            benchmark: Its benchmark.
            tagging: The tagging profile that it reads; None: the one that its record says.

        Raises:
            CoattendError: If there are no such tables, or several that the record cannot tell apart.
        """
        plans = {one: self._plan(tables, benchmark, one) for one in self._profiles(tables, tagging)}
        if len(plans) > 1:
            # Profiles of one tagger have the same name for it; what was read is told by what was answered.
            plans = {one: plan for one, plan in plans.items() if kept_predictions(plan, self.folder).is_file()} or plans
        if len(plans) > 1:
            names = " or ".join(sorted({one.tagging for one in plans}))
            raise CoattendError(
                f"its record does not tell which tags it reads: {names}",
                where=f"trial {self.id}",
                cure="Say it with --params attention.tagging=<profile>",
            )
        return next(iter(plans.values()))

    def _profiles(self, tables: StoredTables, tagging: str | None) -> list[Profiles]:
        """The subwords of its benchmark that are its encoder's own and were tagged as it says."""
        digest = load_tokenizer(TokenizerParameters(source=self.outcome["encoder"])).digest
        there, fitting = tables.tokenized(self.benchmark), []
        for one in there:
            made = tables.open("tokens", self.benchmark, **one._asdict()).schema.metadata or {}
            by = (made.get(b"tokenizer", b"").decode(), made.get(b"tagger", b"").decode())
            if by == (digest, self.outcome["tagger"]) and tagging in (None, one.tagging):
                fitting.append(one)
        if fitting:
            return fitting
        named = ", ".join(f"{one.tagging}.{one.tokenizer}" for one in there) or "none"
        raise CoattendError(
            f"there are no tokens of {self.benchmark} by its tokenizer ({self.outcome['encoder']}) and its tagger "
            f"({self.outcome['tagger']}); there are: {named}",
            where=f"trial {self.id}",
            cure="Run the data stages as it was trained, or set attention.tagging to a profile of them",
        )

    def _plan(self, tables: StoredTables, benchmark: BenchmarkParameters, profiles: Profiles) -> Plan:
        words = readers.encoder_of(self.content["reader"]) == "recurrent"
        return plan_of(
            tables.open("questions", self.benchmark),
            tables.open("passages", self.benchmark),
            tables.open("tokens", self.benchmark, **profiles._asdict()),
            tables.open("tags", self.benchmark, tagging=profiles.tagging) if words else None,
            benchmark,
            ReaderParameters(
                name=self.content["reader"],
                reader=self.content["reader"],
                head=self.content["head"],
                tagging=profiles.tagging,
                options=self.content["options"],
                training=self.content["training"],
            ),
            EncoderParameters(source=self.outcome["encoder"], tokenizer=profiles.tokenizer),
            TokenizerParameters(source=self.outcome["encoder"]),
        )
