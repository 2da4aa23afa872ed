"""The list of trials: id, benchmark, entry, seed, date, score and what is set differently, the newest first."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TypedDict

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coattend.evaluation.groups import COLUMNS, scored_questions
from coattend.evaluation.summary import METRICS, score_of_answers
from coattend.io.table_store import StoredTables
from coattend.reports.navigation import page_links
from coattend.reports.render import Section, html_page
from coattend.reports.tables import NO_VALUE, Cell, Table, TableRow, format_duration, format_setting
from coattend.trials.store import FinishedTrial, differing_settings

DEV = "dev"


class ListedTrial(TypedDict):
    """A trial as the list shows it; ``score`` is None where it has answered no dev question that is stored."""

    trial_id: str
    benchmark: str
    entry: str
    seed: int
    finished: str
    metric: str
    score: float | None
    seconds: float | None
    set_differently: str


def list_trials(trials: Iterable[FinishedTrial], tables: StoredTables) -> list[ListedTrial]:
    """List trials, the newest first, with their scores by the metric that counts on the dev questions as they are now,
    in percent; and what other trials of the same entry do not have set so."""
    newest_first = sorted(trials, key=lambda trial: trial.finished_at, reverse=True)
    differing, stored = differing_settings(newest_first), set(tables.benchmarks())

    @cache
    def dev_questions(benchmark: str, task: str) -> pa.ChunkedArray:
        columns = tables.open("questions", benchmark).to_table(columns=COLUMNS)
        questions, _ = scored_questions(columns, task)
        # Where all questions have gaps, options are the words that fill them.
        if task == "options" and not len(questions):
            questions, _ = scored_questions(columns, "word")
        return questions.filter(pc.equal(questions["split"].cast(pa.string()), DEV))["question_id"]

    def listed(trial: FinishedTrial) -> ListedTrial:
        task = trial.task
        known = trial.benchmark in stored
        return {
            "trial_id": trial.id,
            "benchmark": trial.benchmark,
            "entry": trial.entry,
            "seed": trial.content["seed"],
            "finished": f"{trial.finished_at:%Y-%m-%d %H:%M}",
            "metric": f"{DEV}.{METRICS[task][-1]}",
            "score": _score(trial, METRICS[task][-1], dev_questions(trial.benchmark, task)) if known else None,
            "seconds": trial.outcome.get("seconds") if trial.outcome.get("trained", True) else None,
            "set_differently": ", ".join(
                f"{name}={format_setting(value)}" for name, value in differing[trial.id].items()
            ),
        }

    return [listed(trial) for trial in newest_first]


def _score(trial: FinishedTrial, metric: str, question_ids: pa.ChunkedArray) -> float | None:
    """Score a trial's newest answers to some of the questions; None if there are none."""
    for file in trial.answer_files():
        try:
            answers = pq.read_table(file, columns=["question_id", "correct", "f1"])
        except (pa.ArrowInvalid, OSError):
            continue
        score = score_of_answers(answers, metric, question_ids)
        if score is not None:
            return round(score, 1)
    return None


def text_lines(trials: Iterable[ListedTrial]) -> Iterator[str]:
    """Write the list as aligned lines of text under a line of heads."""
    rows = [
        (
            trial["trial_id"],
            f"{trial['benchmark']}.{trial['entry']}/{trial['seed']}",
            trial["finished"],
            NO_VALUE if trial["score"] is None else f"{trial['metric']} {trial['score']:.1f}",
            trial["set_differently"],
        )
        for trial in trials
    ]
    rows.insert(0, ("trial", "name", "finished", "score", "set differently"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip()


def render_html(trials: Iterable[ListedTrial]) -> str:
    """Render the list as a page."""
    rows: list[TableRow] = [
        {
            "Name": Cell(f"{trial['benchmark']}.{trial['entry']}/{trial['seed']}", (trial["trial_id"],)),
            "Finished": trial["finished"],
            "Score": NO_VALUE if trial["score"] is None else Cell(f"{trial['score']:.1f}", (trial["metric"],)),
            "Training": format_duration(trial["seconds"]),
            "Set differently": trial["set_differently"] or NO_VALUE,
        }
        for trial in trials
    ]
    text = (
        "Wherever a command asks for a trial, its name will do, or the beginning of its id. Trials of one name differ "
        "in what is set differently: give the id of one. Scores are in percent of the dev questions as they are now.",
    )
    return html_page("Trials", [Section("The newest first", text, (Table.of("", rows),))], links=page_links(""))
