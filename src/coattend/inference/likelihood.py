"""Answer questions with options by their likelihood under a language model, which is not trained.

A trial of such a reader has no weights of its own: its content are the model's files, the reader's options and the
examples that it is shown, its folder holds a description and predictions. Trials of several seeds differ in their
examples; without any there is one.
"""

import json
import logging
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import torch

from coattend import readers
from coattend.config import (
    BenchmarkParameters,
    EncoderParameters,
    ReaderParameters,
    TaggingParameters,
    TrainingParameters,
    training_of,
)
from coattend.config.entries import missing_model
from coattend.errors import CoattendError
from coattend.evaluation.records import TrainingRecord
from coattend.inference.option_scorer import Example, OptionScorer
from coattend.inference.scoring import score_choices
from coattend.io.atomic import matches_checksum, write_with_checksum
from coattend.readers.prompts import Inquiry
from coattend.readers.registry import DESCRIPTION
from coattend.schemas import PREDICTIONS, REJECTED, SCORED_QUESTIONS, QuestionRow, read_passage_texts
from coattend.text.hashing import json_digest, text_id
from coattend.trials import run_spec
from coattend.trials.device import PeakMemory, device_and_precision, device_name, processor_name
from coattend.trials.run_spec import AskedModel, RunSpec
from coattend.trials.trial import PREDICTIONS_FILE, EncoderContent, Trial, TrialOutcome, encoder_digest

ANSWERS_VERSION = 1
"""Raised whenever the same trial would give other answers to the same questions."""
IN_TRIAL_ID = ("max_length", "reads")
"""Training parameters that change an answer; the precision is a field of its own."""
PARTS_READ = ("all", "no_passage")
"""The parts of a question that a prompt can be written of."""

logger = logging.getLogger(__name__)


class LikelihoodTables(NamedTuple):
    """What such a reader reads of a benchmark: neither tokens nor tags."""

    questions: pads.Dataset
    passages: pads.Dataset
    benchmark: BenchmarkParameters


@dataclass(frozen=True)
class OptionLikelihood:
    """A reader that is a language model, on a benchmark."""

    tables: LikelihoodTables
    reader: ReaderParameters
    tagging: TaggingParameters
    store: Path

    @cached_property
    def training(self) -> TrainingParameters:
        """The parameters of which seeds, lengths, device and precision count."""
        training = training_of(self.tables.benchmark, self.reader, recurrent=False)
        if training.reads not in PARTS_READ:
            problem = f"{training.reads!r} cannot be asked of a language model"
            raise CoattendError(problem, where="training.reads", cure=f"Set it to {' or '.join(PARTS_READ)}")
        if training.over_windows is not None:
            problem = "is not for a language model, whose log probabilities are of options behind one passage"
            cure = f"Set readers.{self.reader.name}.training.over_windows to null: its passages are cut"
            raise CoattendError(problem, where="training.over_windows", cure=cure)
        return training

    @cached_property
    def head(self) -> str:
        """Its head, if there are questions with options."""
        return readers.head_for(self.reader.reader, self.tables.benchmark.answerable, self.reader.head)

    @cached_property
    def task(self) -> Literal["options", "word"]:
        """The task of the questions that are read: ``word`` where candidates are read like options."""
        return "options" if "options" in self.tables.benchmark.tasks else "word"

    @cached_property
    def options(self) -> dict[str, Any]:
        """Its options, complete; CoattendError if it names no model."""
        options = readers.resolve(self.reader.reader, head=self.head, **self.reader.options)
        if options.get("model") is None:
            raise missing_model(self.reader.name)
        return options

    @cached_property
    def scorer(self) -> OptionScorer:
        """The language model with the head, which score options."""
        return OptionScorer(self.options, self.training, self.task, self.tables.benchmark.fill_blanks)

    def answer_all(self, *, keep_failures: bool = False) -> tuple[list[TrialOutcome], pa.Table, pa.Table]:
        """Answer the questions of every split but train, or load the answers.

        Args:
            keep_failures: Whether a trial that fails has a ``failure``, and the others go on.

        Returns:
            The outcomes of its trials, their predictions, and the questions that it could not be given.
        """
        self.options  # noqa: B018  # A reader without a model is refused before questions are read.
        rows = self._rows(~pc.field("split").cast(pa.string()).isin(["train"]))
        if not rows:
            problem = f"has no questions of the task {self.task!r} to score"
            cure = "Add a split other than train to its files"
            raise CoattendError(problem, where=f"benchmark {self.tables.benchmark.name}", cure=cure)
        texts = read_passage_texts(self.tables.passages, pa.chunked_array([[row["passage_id"] for row in rows]]))
        seeds = self.training.seeds if self.options["shots"] else self.training.seeds[:1]
        results = [self._attempt(seed, rows, texts, keep_failures=keep_failures) for seed in seeds]
        outcomes, predictions, rejected = zip(*results, strict=True)
        reasons = sorted({reason for by_id in rejected for reason in by_id.items()})
        scored = SCORED_QUESTIONS.format(benchmark=self.tables.benchmark.name)
        columns = [[scored] * len(reasons), [name for name, _ in reasons], [reason for _, reason in reasons]]
        return list(outcomes), pa.concat_tables(predictions), pa.table(columns, schema=REJECTED)

    def _attempt(
        self, seed: int, rows: Sequence[QuestionRow], texts: Mapping[str, str], *, keep_failures: bool
    ) -> tuple[TrialOutcome, pa.Table, dict[str, str]]:
        examples = self._examples(seed, {row["group"] for row in rows})
        trial = self._trial(seed, examples)
        try:
            return self._answer(trial, examples, rows, texts)
        except Exception as error:
            outcome = trial.fail(f"{type(error).__name__}: {error}")
            if not keep_failures:
                raise
            logger.error("trial %s (seed %d) failed: %s", trial.id, seed, error)
            return outcome, PREDICTIONS.empty_table(), {}

    def _answer(
        self, trial: Trial, examples: Sequence[Example], rows: Sequence[QuestionRow], texts: Mapping[str, str]
    ) -> tuple[TrialOutcome, pa.Table, dict[str, str]]:
        """Answer, or load the answers of a finished trial; beside them, the reasons of questions that are not read."""
        seed = trial.content["seed"]
        contents = [[*row.values(), text_id(texts[row["passage_id"]])] for row in rows]
        key = json_digest([ANSWERS_VERSION, contents])[:16]
        answers = trial.folder / PREDICTIONS_FILE.format(key=key)
        rejected_file = trial.folder / f"rejected-{key}.json"
        with trial.locked():
            outcome = trial.outcome()
            files = (answers, rejected_file)
            if outcome is None or not all(file.is_file() and matches_checksum(file) for file in files):
                logger.info("%s: trial %s scores %d questions", self._title(seed), trial.id, len(rows))
                memory = PeakMemory(device_and_precision(self.training)[0])
                self.scorer.model  # noqa: B018  # Loading it is no part of the time that answers take.
                start = time.perf_counter()
                scores, rejected = self.scorer.score(self._groups(rows, texts), examples, self._title(seed))
                seconds = time.perf_counter() - start
                table = score_choices(rows, scores, trial_id=trial.id, seed=seed)
                with write_with_checksum(answers) as temporary:
                    pq.write_table(table, temporary)
                with write_with_checksum(rejected_file) as temporary:
                    temporary.write_text(json.dumps(rejected))
                if outcome is None:
                    outcome = self._finish(trial, seconds=seconds, memory=memory.mib, questions=len(rows))
            else:
                logger.info("%s: trial %s has scored them already", self._title(seed), trial.id)
            run_spec.write(self._run_spec(trial, outcome, examples), trial.folder)
        return outcome, pq.read_table(answers, schema=PREDICTIONS), json.loads(rejected_file.read_text())

    def _title(self, seed: int) -> str:
        return f"{self.tables.benchmark.name}.{self.reader.name} seed {seed}"

    def _rows(self, condition: pads.Expression) -> list[QuestionRow]:
        of_task = condition & (pc.field("task").cast(pa.string()) == self.task)
        return cast("list[QuestionRow]", self.tables.questions.to_table(filter=of_task).to_pylist())

    def _groups(self, rows: Sequence[QuestionRow], texts: Mapping[str, str]) -> list[dict[str, Inquiry]]:
        """Group questions by their passages."""
        by_passage: dict[str, dict[str, Inquiry]] = {}
        for row in rows:
            passage = row["passage_id"]
            by_passage.setdefault(passage, {})[row["question_id"]] = self._inquiry(row, texts[passage])
        return list(by_passage.values())

    def _inquiry(self, row: QuestionRow, passage: str) -> Inquiry:
        return self.scorer.inquire(passage, row["question"], row["options"] or ())

    def _examples(self, seed: int, scored_groups: set[str]) -> list[Example]:
        """Draw training questions by a hash of their ids and the seed, of passages that overlap neither with each other
        nor with those that are scored, and write them with their right answers."""
        count = self.options["shots"]
        if not count:
            return []
        train = [
            row
            for row in self._rows(pc.field("split").cast(pa.string()) == "train")
            if row["label"] is not None and row["group"] not in scored_groups
        ]
        drawn: dict[str, QuestionRow] = {}
        for row in sorted(train, key=lambda row: text_id(f"{seed} {row['question_id']}")):
            if len(drawn) < count:
                drawn.setdefault(row["group"], row)
        if len(drawn) < count:
            raise CoattendError(
                f"is {count}, and train has {len(drawn)} passages with questions that overlap with none that is scored",
                where=f"readers.{self.reader.name}.shots",
                cure="Set it to as many or fewer",
            )
        shown = list(drawn.values())
        texts = read_passage_texts(self.tables.passages, pa.chunked_array([[row["passage_id"] for row in shown]]))
        return [
            (self.scorer.write(self._inquiry(row, texts[row["passage_id"]])), cast(int, row["label"])) for row in shown
        ]

    def _trial(self, seed: int, examples: Sequence[Example]) -> Trial:
        training, (_, bf16) = self.training.model_dump(mode="json"), device_and_precision(self.training)
        options = {name: value for name, value in self.options.items() if name != "model"}
        settings = {name: training[name] for name in IN_TRIAL_ID} | {"precision": "bf16" if bf16 else "fp32"}
        return Trial(
            {
                "benchmark": self.tables.benchmark.name,
                "reader": self.reader.reader,
                "head": self.head,
                "options": options,
                "encoder": EncoderContent(
                    digest=encoder_digest(EncoderParameters(source=self.options["model"])), dropout=None
                ),
                "training": cast("TrainingRecord", settings),
                "seed": seed,
                # How blanks are filled shapes each prompt, those of the examples and those of the questions.
                "data": json_digest(
                    [
                        self.tables.benchmark.fill_blanks,
                        [[prompt.context, prompt.continuations, label] for prompt, label in examples],
                    ]
                ),
                "source": readers.code_digest(self.reader.reader, self.head),
            },
            self.store,
        )

    def _finish(self, trial: Trial, *, seconds: float, memory: float, questions: int) -> TrialOutcome:
        """Record a trial: its configuration, without weights beside it, and its cost, that of its first answers."""
        shutil.rmtree(trial.model, ignore_errors=True)
        trial.model.mkdir(parents=True)
        encoder = {"vocab_size": self.scorer.model.vocabulary_size}
        description = {"reader": self.reader.reader, "head": self.head, "encoder": encoder, **self.options}
        (trial.model / DESCRIPTION).write_text(json.dumps(description, indent=1, sort_keys=True))
        device, bf16 = device_and_precision(self.training)
        return trial.finish(
            {
                "trial_id": trial.id,
                "seed": trial.content["seed"],
                "folder": trial.id,
                "variant": self.reader.reader,
                "trained": False,
                "head": self.head,
                "data": trial.content["data"],
                "benchmark_version": self.tables.benchmark.version,
                "options": {name: value for name, value in self.options.items() if name != "model"},
                "training": trial.content["training"],
                "encoder": self.options["model"],
                "seconds": seconds,
                "questions": questions,
                "questions_per_second": questions / seconds,
                "peak_memory_mib": memory,
                "parameters": self.scorer.model.parameter_count,
                "device": device_name(device),
                "processor": processor_name(),
                "threads": torch.get_num_threads(),
                "precision": "bf16" if bf16 else "fp32",
                "tagger": "",
                "selection": "held_out",
                "best_step": 0,
                "held_out": None,
                "curve": [],
                "unreadable": [],
                "null_threshold": None,
                "signs": {},
                "failure": None,
            }
        )

    def _run_spec(self, trial: Trial, outcome: TrialOutcome, examples: Sequence[Example]) -> RunSpec:
        """Describe how the trial answers, for pages and to ask it again."""
        benchmark = self.tables.benchmark
        precision = cast(Literal["bf16", "fp32"], outcome["precision"])
        resolved = {"seeds": (trial.content["seed"],), "precision": precision, "device": "auto"}
        return RunSpec(
            trial_id=trial.id,
            model_digest=outcome["model_digest"],
            name=self.reader.name,
            benchmark=benchmark.name,
            **benchmark.model_dump(include={"title", "licence", "published_at", "hub", "language"}),
            task=self.task,
            reader=self.reader.reader,
            head=self.head,
            options=self.options,
            encoder=self.options["model"],
            tokenizer="",
            tokenizer_profile="",
            reads_words=False,
            tagging=self.tagging,
            tagging_profile=self.reader.tagging,
            tagger="",
            fill_blanks=benchmark.fill_blanks,
            words_as_options=benchmark.words_as_options,
            training=self.training.model_copy(update=resolved),
            language_model=AskedModel(
                digest=trial.content["encoder"]["digest"],
                examples=tuple((*astuple(prompt), label) for prompt, label in examples),
            ),
        )
