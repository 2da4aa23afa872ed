"""The reader that a trial begins with: a fresh one, or one that another trial ended with."""

from pathlib import Path

from coattend.errors import CoattendError
from coattend.readers.reader import Reader
from coattend.training.data import QuestionSet
from coattend.training.plan import Plan


def begin(plan: Plan, train: QuestionSet, store: Path, seed: int) -> Reader:
    """The reader that the trial of a seed begins with.

    Args:
        plan: What is trained.
        train: What it is trained on; the words of a fresh reader come from there.
        store: The folder of all trials.
        seed: The trial's seed.

    Raises:
        CoattendError: If the trial to start from is not there, or trained another reader.
    """
    start = plan.start_of(seed)
    if start is None:
        return plan.build(train)
    folder = store / start / "model"
    if not folder.is_dir():
        raise CoattendError(
            f"there is no trained reader of the trial {start!r}",
            where="training.start_from",
            cure="Give the id of a finished trial: the name of its folder, and its tag trial_id in MLflow",
        )
    reader = Reader.load(folder)
    mine = {"reader": plan.reader, "head": plan.head, "options": plan.built_with}
    theirs = {name: getattr(reader.config, name) for name in mine}
    for name, value in mine.items():
        if theirs[name] != value:
            raise CoattendError(
                f"the trial {start!r} has the {name} {theirs[name]!r}, and this one {value!r}",
                where="training.start_from",
                cure="Start from a trial of the same reader",
            )
    return plan.ready(reader)
