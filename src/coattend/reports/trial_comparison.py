"""The page of two trials: what they are, which one is better, and every question with both answers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coattend.evaluation.bootstrap import LEVEL
from coattend.evaluation.groups import EVERYTHING, members, passage_numbers, subsets, within
from coattend.evaluation.paired import WINNERS, SideBySide, is_correct
from coattend.evaluation.records import TrialDescription
from coattend.evaluation.significance import mcnemar, paired_bootstrap
from coattend.evaluation.summary import METRICS
from coattend.reports.records import Contest, TrialDifference
from coattend.reports.render import Section, html_page, script_json
from coattend.reports.sections import ENCODER_NOTE
from coattend.reports.tables import (
    METRIC_TITLES,
    NO_VALUE,
    Cell,
    Table,
    estimate_cell,
    format_duration,
    format_interval,
    format_p_value,
    format_questions,
    format_setting,
    heads,
    p_value_in_text,
    settings_tables,
)

SIDES = {"left": "Left", "right": "Right"}
WINNER_TITLES = {"left": "Left alone", "right": "Right alone", "both": "Both", "neither": "Neither"}
"""Trials that answered a question correctly, to the title of the outcome."""

_DIGEST_CHARACTERS = 8  # Enough to tell digests apart.

Trials = Mapping[str, TrialDescription]
"""``left`` and ``right`` to a trial."""


def compare_trials(answers: SideBySide) -> list[Contest]:
    """Compare two trials in each split and in each subset of it, in percent and points.

    Args:
        answers: The answers of both, question by question.
    """
    return list(_contests(answers))


def _contests(answers: SideBySide) -> Iterator[Contest]:
    table, passages = answers.table, passage_numbers(answers.table)
    # Winners that never occur have no rows.
    winners = members(table["winner"])
    left, right = is_correct(table, "left"), is_correct(table, "right")
    for split, split_rows in members(table["split"]).items():
        for group, rows in within(split_rows, subsets(table)):
            yield {
                "split": split,
                "group": group,
                "questions": int(rows.sum()),
                "missing": {side: _unanswered(table, side, rows) for side in SIDES},
                "counts": {winner: int((winners.get(winner, False) & rows).sum()) for winner in WINNERS},
                "mcnemar_p": mcnemar(left[rows], right[rows]),
                "metrics": {
                    metric: _difference(
                        _scores(table, "left", metric, rows), _scores(table, "right", metric, rows), passages[rows]
                    )
                    for metric in METRICS[answers.task]
                },
            }


def _unanswered(table: pa.Table, side: str, rows: np.ndarray) -> int:
    return int((table[f"{side}_answer"].is_null().to_numpy() & rows).sum())


def _scores(table: pa.Table, side: str, metric: str, rows: np.ndarray) -> np.ndarray:
    """Score one trial's answers to each question, in percent [questions]."""
    scores: np.ndarray = table[f"{side}_mark"].to_numpy() if metric == "f1" else is_correct(table, side)
    percent: np.ndarray = 100 * scores[rows].astype(float)
    return percent


def _difference(left: np.ndarray, right: np.ndarray, passages: np.ndarray) -> TrialDifference:
    difference = paired_bootstrap(left[None], right[None], passages)
    return {
        "left": float(left.mean()),
        "right": float(right.mean()),
        "mean": difference.mean,
        "low": difference.low,
        "high": difference.high,
        "p": difference.p,
    }


def render_html(
    title: str,
    answers: SideBySide,
    contests: Sequence[Contest],
    trials: Trials,
    passages: Mapping[str, str],
    *,
    most_listed: int,
) -> str:
    """Render the page of two trials.

    Args:
        title: The page's title.
        answers: The answers of both, question by question.
        contests: The comparison that `compare_trials` returned.
        trials: Both trials.
        passages: Text by passage id.
        most_listed: The largest number of questions to list.
    """
    return html_page(
        title,
        sections(contests, trials, answers.task, answers.left_out),
        template="trials.html.j2",
        **_question_list(answers, passages, most_listed),
    )


def sections(contests: Sequence[Contest], trials: Trials, task: str, left_out: Mapping[str, int]) -> list[Section]:
    """Write the sections above the list of questions.

    Args:
        contests: The comparison that `compare_trials` returned.
        trials: Both trials.
        task: Their task.
        left_out: Splits that only one trial answered, to their numbers of questions.
    """
    left, right = (f"{trial['reader']} with seed {trial['seed']}" for trial in trials.values())
    # Options and training parameters are compared in one table.
    differing, same = settings_tables({SIDES[side]: _settings(trial) for side, trial in trials.items()})
    summary = (f"Left is {left}, Right is {right}.", *map(_summary_sentence, contests))
    return [
        Section("In short", summary, (_outcome_table(contests), _difference_table(contests))),
        Section("The trials", (), (_trial_table(trials), *((differing,) if differing.rows else ())), (same,)),
        Section("What to keep in mind", tuple(_cautions(contests, trials, task, left_out))),
    ]


def _summary_sentence(contest: Contest) -> str:
    metric, difference = next(iter(contest["metrics"].items()))
    questions = format_questions(contest["split"], contest["group"])
    interval = f" {format_interval(difference, '+')}" if difference["low"] is not None else ""
    return (
        f"On {questions}, {METRIC_TITLES[metric].lower()} of Left is {difference['left']:.1f} %, of Right "
        f"{difference['right']:.1f} %: {difference['mean']:+.1f} points{interval}; McNemar’s exact p "
        f"{p_value_in_text(contest['mcnemar_p'])}."
    )


def _questions_cell(contest: Contest, *notes: str) -> Cell:
    group = () if contest["group"] == EVERYTHING else (contest["group"],)
    return Cell(contest["split"], (*group, *notes))


def _outcome_table(contests: Sequence[Contest]) -> Table:
    columns = heads("Correct were", *(WINNER_TITLES[winner].lower() for winner in WINNERS), "questions")
    rows = tuple(
        (
            _questions_cell(contest),
            *(Cell(f"{contest['counts'][winner]:,}") for winner in WINNERS),
            Cell(f"{contest['questions']:,}"),
        )
        for contest in contests
    )
    return Table("How many questions each answered correctly", columns, rows)


def _difference_table(contests: Sequence[Contest]) -> Table:
    columns = heads("", "Left", "Right", "Left less Right", "p, bootstrap", "p, McNemar")
    rows = tuple(
        (
            _questions_cell(contest, METRIC_TITLES[metric]),
            Cell(f"{difference['left']:.1f}"),
            Cell(f"{difference['right']:.1f}"),
            estimate_cell(difference, sign="+"),
            Cell(format_p_value(difference["p"])),
            Cell(NO_VALUE if metric == "f1" else format_p_value(contest["mcnemar_p"])),
        )
        for contest in contests
        for metric, difference in contest["metrics"].items()
    )
    return Table("Percent, and the difference in points", columns, rows)


def _trial_table(trials: Trials) -> Table:
    descriptions = {side: _describe(trial) for side, trial in trials.items()}
    rows = tuple(
        heads(name, *(description[name] for description in descriptions.values()))
        for name in next(iter(descriptions.values()))
    )
    return Table("What they are", heads("", *SIDES.values()), rows, aligned=False)


def _describe(trial: TrialDescription) -> dict[str, str]:
    return {
        "Trial": trial["trial_id"],
        "Reader": trial["reader"],
        "Seed": str(trial["seed"]),
        "Trained on": f"{trial['questions']:,} questions of {trial['benchmark']}",
        "Training": format_duration(trial["seconds"]),
        "Parameters trained": f"{trial['parameters']:,}",
        "Device": f"{trial['device']}, {trial['precision']}",
        "Tagger": trial["tagger"],
    }


def _settings(trial: TrialDescription) -> dict[str, str]:
    """Format the settings that a trial was trained with."""
    settings: dict[str, Any] = {
        "reader": trial["reader"],
        "head": trial["head"],
        "seed": trial["seed"],
        "encoder": trial["encoder"],
    }
    # The encoder's digest would only repeat its name.
    settings |= {f"encoder.{name}": value for name, value in trial["encoder_files"].items() if name != "digest"}
    settings |= trial["options"] | {f"training.{name}": value for name, value in trial["training"].items()}
    digests = {"training questions, digest": trial["data"], "code of the reader, digest": trial["source"]}
    return {name: format_setting(value) for name, value in settings.items()} | {
        name: digest[:_DIGEST_CHARACTERS] for name, digest in digests.items()
    }


def _cautions(contests: Sequence[Contest], trials: Trials, task: str, left_out: Mapping[str, int]) -> Iterator[str]:
    yield (
        "These are two trainings. Intervals and p values say how the same two would fare with other questions, not "
        "how their readers would, trained with other seeds."
    )
    yield (
        f"In brackets: where the difference would lie for {100 * LEVEL:.0f} % of other draws of passages. McNemar’s "
        "test takes questions as independent, which those about one passage are not: where the two disagree, trust "
        "the bootstrap."
    )
    if task == "span":
        yield "Correct means an exact match. The mark beside an answer is its F1."
    if len({trial["data"] for trial in trials.values()}) > 1:
        yield "They were not trained on the same: their training questions, tokens or tags differ."
    for contest in contests:
        for side, count in contest["missing"].items():
            if count and contest["group"] == EVERYTHING:
                split = contest["split"]
                yield f"{SIDES[side]} gave no answer to {count:,} questions of {split}, which count as wrong."
    for split, count in left_out.items():
        yield f"{count:,} questions of {split} are left out: one of the two was not asked any of them."
    for side, trial in trials.items():
        if trial["selection"] == "dev":
            yield f"The checkpoint of {SIDES[side]} was chosen on dev, so its dev score is too good."
    if task == "span" and any(trial["encoder"] == "embedded" for trial in trials.values()):
        yield ENCODER_NOTE


def _question_list(answers: SideBySide, passages: Mapping[str, str], most_listed: int) -> dict[str, Any]:
    """Prepare the template's variables of the question list, which the browser draws as it is scrolled."""
    questions = listed_questions(answers.table, most_listed)
    # The browser gets columns, which are shorter than rows with repeated names.
    columns = questions.to_pydict()
    for side in SIDES:
        columns[f"{side}_mark"] = [round(mark, 3) for mark in columns[f"{side}_mark"]]
    passage_ids = set(columns["passage_id"])
    content = {
        "rows": columns,
        "passages": {passage_id: text for passage_id, text in passages.items() if passage_id in passage_ids},
        "graded": answers.task == "span",
        "names": WINNER_TITLES,
    }
    return {
        "winner_names": WINNER_TITLES,
        "splits": {split: split for split in members(questions["split"])},
        "unlisted": len(answers.table) - len(questions),
        "question_data": script_json(json.dumps(content, ensure_ascii=False, separators=(",", ":"))),
    }


def listed_questions(table: pa.Table, most: int) -> pa.Table:
    """Select as many questions as a page can take, in their order.

    Args:
        table: A table of the schema `COMPARED`.
        most: The largest number of questions; those that only one trial answered correctly are preferred.
    """
    if len(table) <= most:
        return table
    # Questions that one trial alone answered correctly say most about the difference; a stable sort keeps the order.
    decided = pc.is_in(table["winner"].cast(pa.string()), value_set=pa.array(["left", "right"])).to_numpy()
    return table.take(np.sort(np.argsort(~decided, kind="stable")[:most]))
