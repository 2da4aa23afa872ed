"""The training questions of several benchmarks as one."""

from collections import ChainMap
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from coattend.errors import CoattendError, did_you_mean
from coattend.parameters import TrainingParameters
from coattend.training.data import QuestionSet, Source
from coattend.training.examples import Example
from coattend.training.records import Records


def training_questions(sources: Sequence[Source], training: TrainingParameters) -> tuple[QuestionSet, QuestionSet]:
    """What is trained on and what chooses the checkpoint, of the benchmarks that ``train_on`` names.

    Args:
        sources: Where questions come from, the benchmark's own source first; all share their tokens.
        training: How training goes. ``max_questions`` is for each benchmark.

    Raises:
        CoattendError: If one is named that is not there, or two benchmarks give different questions one id.
    """
    by_name = {source.benchmark: source for source in sources}
    named = list(training.train_on) or [sources[0].benchmark]
    for name in named:
        if name not in by_name:
            raise CoattendError(
                f"{name!r} is not a benchmark that this reader is registered to train on",
                where="training.train_on",
                cure=f"{did_you_mean(name, list(by_name))} Studies train on others: conf/base/studies/multi_task.yml",
            )
    if len(named) > 1 and training.reads == "shuffled_passage":
        raise CoattendError("is for one benchmark", where="training.reads", cure="Name one in training.train_on")
    pairs = [by_name[name].training(training) for name in named]
    return _joined([train for train, _ in pairs]), _joined([held_out for _, held_out in pairs])


def _joined(sets: Sequence[QuestionSet]) -> QuestionSet:
    if len(sets) == 1:
        return sets[0]
    questions = pa.concat_tables([one.questions.unify_dictionaries() for one in sets], promote_options="default")
    counts = pc.value_counts(questions["question_id"])
    twice = [one["values"] for one in counts.to_pylist() if one["counts"] > 1]
    if twice:
        raise CoattendError("is in two of the benchmarks", where=f"question {twice[0]}", cure="Train on one of them")
    return QuestionSet(
        questions,
        ChainMap(*(one.texts for one in sets)),  # type: ignore[arg-type]
        sets[0].tokens,
        Records.of(Example, (example for one in sets for example in one.examples)),
        [unreadable for one in sets for unreadable in one.unreadable],
        [example for one in sets for example in one.lost],
    )
