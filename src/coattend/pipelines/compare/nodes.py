"""Nodes of the pipeline that compares two trials."""

import logging
from pathlib import Path

import pyarrow as pa

from coattend.datasets.stored_tables import StoredTables
from coattend.errors import CoattendError, did_you_mean
from coattend.parameters import CompareParameters

logger = logging.getLogger(__name__)


def compare(trials: Path, tables: StoredTables, asked: CompareParameters) -> tuple[dict[str, pa.Table], dict[str, str]]:
    """Compare two finished trials, question by question.

    Args:
        trials: The folder of all trials.
        tables: The tables of all benchmarks.
        asked: Which trials, and on what.

    Returns:
        The questions with both answers, and a page to look through them, each under ``<left>_<right>``.

    Raises:
        CoattendError: If the two cannot be compared.
    """
    from coattend.evaluation.side_by_side import side_by_side
    from coattend.reporting import html_page, question_list, trial_comparison, trials_page
    from coattend.text.passages import passage_texts
    from coattend.training.finished import answers_of, find_pair

    pair = find_pair(trials, asked.left, asked.right)
    benchmark = asked.benchmark or pair[0].benchmark
    known = tables.benchmarks()
    if benchmark not in known:
        cure = f"Run its pipeline ingestion. {did_you_mean(benchmark, known)}"
        raise CoattendError(f"there are no questions of {benchmark!r}", where="compare.benchmark", cure=cure)
    table = tables.open("questions", benchmark).to_table()
    given = [
        answers_of(trial, name, table["question_id"], benchmark)
        for trial, name in zip(pair, (asked.left, asked.right), strict=True)
    ]
    answered = side_by_side(table, *given)
    contests = trial_comparison.contests(answered)
    about = dict(zip(("left", "right"), (trial.about() for trial in pair), strict=True))
    rows = question_list.render(
        answered.table,
        passage_texts(tables.open("passages", benchmark)),
        graded=answered.task == "span",
        most=asked.most_listed,
    )
    parts = trials_page.sections(contests, about, answered.task, answered.left_out)
    name = "_".join(trial.id for trial in pair)
    logger.info("%s beside %s: %s/questions.parquet and %s/index.html", *pair, name, name)
    return {name: answered.table}, {name: html_page.page(f"{benchmark}: two trials compared", parts, rows)}
