"""The page of two trials: what they are, which one is better, and every question with both answers."""

import json
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coattend.evaluation.groups import EVERYTHING, group_numbers, members, subsets, within
from coattend.evaluation.intervals import LEVEL
from coattend.evaluation.paired import WINNERS, SideBySide, is_correct
from coattend.evaluation.records import TrialDescription
from coattend.evaluation.significance import mcnemar_where_independent, paired_test
from coattend.evaluation.summary import METRICS
from coattend.reports import provenance, tables
from coattend.reports.comparison import tested_estimate
from coattend.reports.navigation import page_links
from coattend.reports.records import Contest, TrialDifference
from coattend.reports.render import Section, html_page, script_json
from coattend.reports.sections import encoder_notes, encoders_of
from coattend.reports.tables import METRIC_TITLES, NO_VALUE, Cell, Table, TableRow, estimate_cell, noted_cell

SIDES = {"left": "Left", "right": "Right"}
WINNER_TITLES = {"left": "Left alone", "right": "Right alone", "both": "Both", "neither": "Neither"}
"""Trials that answered a question correctly, to the title of the outcome."""

_DIGEST_CHARACTERS = 8  # Enough to tell digests apart.

Trials = Mapping[str, TrialDescription]
"""``left`` and ``right`` to a trial."""


def compare_trials(answers: SideBySide) -> list[Contest]:
    """Compare two trials in each split and in each subset of it, in percent and points."""
    table = answers.table
    # Winners that never occur have no rows.
    winners = members(table["winner"])
    left, right = is_correct(table, "left"), is_correct(table, "right")
    question_groups = group_numbers(table)
    return [
        {
            "split": split,
            "group": group,
            "questions": int(rows.sum()),
            "missing": {side: int((table[f"{side}_answer"].is_null().to_numpy() & rows).sum()) for side in SIDES},
            "counts": {winner: int((winners.get(winner, False) & rows).sum()) for winner in WINNERS},
            "mcnemar_p": mcnemar_where_independent(left[rows], right[rows], question_groups[rows]),
            "metrics": {metric: _difference(table, metric, rows) for metric in METRICS[answers.task]},
        }
        for split, split_rows in members(table["split"]).items()
        for group, rows in within(split_rows, subsets(table))
    ]


def _difference(table: pa.Table, metric: str, rows: np.ndarray) -> TrialDifference:
    left, right = (
        100 * (table[f"{side}_mark"].to_numpy() if metric == "f1" else is_correct(table, side)).astype(float)[rows]
        for side in SIDES
    )
    difference = tested_estimate(paired_test(left[None], right[None], group_numbers(table)[rows]))
    return {"left": float(left.mean()), "right": float(right.mean()), **difference}


def render_html(
    title: str,
    answers: SideBySide,
    contests: Sequence[Contest],
    trials: Trials,
    passages: Mapping[str, str],
    *,
    most_listed: int,
) -> str:
    """Render the page of two trials, with at most so many questions and the texts of their passages, by id."""
    questions = listed_questions(answers.table, most_listed)
    columns = questions.to_pydict()
    for side in SIDES:
        columns[f"{side}_mark"] = [round(mark, 3) for mark in columns[f"{side}_mark"]]
    passage_ids = set(columns["passage_id"])
    # The browser draws the list as it is scrolled; columns are shorter than rows with repeated names.
    content = {
        "rows": columns,
        "passages": {name: text for name, text in passages.items() if name in passage_ids},
        "graded": answers.task == "span",
        "names": WINNER_TITLES,
    }
    return html_page(
        title,
        trial_sections(contests, trials, answers.task, answers.left_out),
        template="trials.html.j2",
        links=page_links("../../", trials=[(SIDES[side], trial["trial_id"]) for side, trial in trials.items()]),
        winner_names=WINNER_TITLES,
        splits={split: split for split in members(questions["split"])},
        unlisted=len(answers.table) - len(questions),
        question_data=script_json(json.dumps(content, ensure_ascii=False, separators=(",", ":"))),
    )


def trial_sections(
    contests: Sequence[Contest], trials: Trials, task: str, left_out: Mapping[str, int]
) -> list[Section]:
    """Write the sections above the list of questions; ``left_out`` counts those that only one trial answered."""
    left, right = (f"{trial['reader']} with seed {trial['seed']}" for trial in trials.values())
    descriptions = ((SIDES[side], _describe(trial)) for side, trial in trials.items())
    described = Table.of_columns("What they are", "", descriptions, aligned=False)
    # Options and training parameters are compared in one table.
    differing, same = tables.settings_tables({SIDES[side]: _settings(trial) for side, trial in trials.items()})
    summary = (*_selection(trials), f"Left is {left}, Right is {right}.", *map(_summary_sentence, contests))
    return [
        Section("In short", summary, (_outcome_table(contests), _difference_table(contests))),
        Section("The trials", (), (described, *((differing,) if differing.rows else ())), (same,)),
        Section("What to keep in mind", tuple(_cautions(contests, trials, task, left_out))),
    ]


def _selection(trials: Trials) -> Iterator[str]:
    for side, trial in trials.items():
        if trial["selection"] == "dev":
            benchmark = trial["benchmark"]
            yield f"The checkpoint of {SIDES[side]} was chosen on dev of {benchmark}, so its score there is too good."


def _summary_sentence(contest: Contest) -> str:
    metric, difference = next(iter(contest["metrics"].items()))
    questions = tables.format_questions(contest["split"], contest["group"])
    # With few groups of questions there is no interval.
    points = f"{difference['mean']:+.1f} points {tables.format_interval(difference, '+')}".strip()
    return (
        f"On {questions}, {METRIC_TITLES[metric].lower()} of Left is {difference['left']:.1f} %, of Right "
        f"{difference['right']:.1f} %: {points}, " + _tested(difference["p"])
    )


def _tested(p_value: float | None) -> str:
    return "which cannot be told from chance." if p_value is None else f"p {tables.p_value_in_text(p_value)}."


def _questions_cell(contest: Contest, *notes: str) -> Cell:
    return noted_cell(contest["split"], "" if contest["group"] == EVERYTHING else contest["group"], *notes)


def _outcome_table(contests: Sequence[Contest]) -> Table:
    rows: Iterator[TableRow] = (
        {
            "Answered correctly by": _questions_cell(contest),
            **{WINNER_TITLES[winner].lower(): f"{contest['counts'][winner]:,}" for winner in WINNERS},
            "questions": f"{contest['questions']:,}",
        }
        for contest in contests
    )
    return Table.of("How many questions each answered correctly", rows)


def _difference_table(contests: Sequence[Contest]) -> Table:
    rows: Iterator[TableRow] = (
        {
            "": _questions_cell(contest, METRIC_TITLES[metric]),
            "Left": f"{difference['left']:.1f}",
            "Right": f"{difference['right']:.1f}",
            "Left less Right": estimate_cell(difference, sign="+"),
            "p": tables.format_p_value(difference["p"]),
            "p, McNemar": NO_VALUE if metric == "f1" else tables.format_p_value(contest["mcnemar_p"]),
        }
        for contest in contests
        for metric, difference in contest["metrics"].items()
    )
    return Table.of("Percent, and the difference in points", rows)


def _describe(trial: TrialDescription) -> dict[str, str]:
    trained = trial.get("trained", True)
    return {
        "Trial": trial["trial_id"],
        "Reader": trial["reader"],
        "Seed": str(trial["seed"]),
        "Trained on": f"{trial['questions']:,} questions of {trial['benchmark']}" if trained else "nothing",
        "Training": tables.format_duration(trial["seconds"]) if trained else "none",
        "Parameters trained": f"{trial['parameters']:,}" if trained else f"0 of {trial['parameters']:,}",
        "Device": provenance.machine(trial),
        "Tagger": trial["tagger"],
    }


def _settings(trial: TrialDescription) -> dict[str, str]:
    """Format the settings that a trial was trained with."""
    shared = {name: trial[name] for name in ("reader", "head", "seed", "encoder")}
    # The encoder's digest would only repeat its name.
    encoder = {f"encoder.{name}": value for name, value in trial["encoder_files"].items() if name != "digest"}
    training = {f"training.{name}": value for name, value in trial["training"].items()}
    digests = {"training questions, digest": trial["data"], "code of the reader, digest": trial["source"]}
    settings = shared | encoder | trial["options"] | training
    return {name: tables.format_setting(value) for name, value in settings.items()} | {
        name: digest[:_DIGEST_CHARACTERS] for name, digest in digests.items()
    }


def _cautions(contests: Sequence[Contest], trials: Trials, task: str, left_out: Mapping[str, int]) -> Iterator[str]:
    yield (
        "These are two trainings. Intervals and p values say how the same two would fare with other questions, not "
        "how their readers would, trained with other seeds."
    )
    yield (
        f"In brackets: where the difference would lie for {100 * LEVEL:.0f} % of other samples of questions. They and "
        "p are those of a sign-flip test over groups of questions, such as those about one passage; where groups are "
        "too few there are no brackets. McNemar’s test is left out where questions hang together: it would be too sure."
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
        yield f"{count:,} questions of {split} are left out: not both trials answered them."
    yield from encoder_notes(encoders_of(trials.values()), spans=task == "span")


def listed_questions(table: pa.Table, limit: int) -> pa.Table:
    """Select so many rows of a table of the schema `COMPARED` at most, in their order."""
    if len(table) <= limit:
        return table
    # Questions that one trial alone answered correctly say most about the difference; a stable sort keeps the order.
    decided = pc.is_in(table["winner"].cast(pa.string()), value_set=pa.array(["left", "right"])).to_numpy()
    return table.take(np.sort(np.argsort(~decided, kind="stable")[:limit]))
