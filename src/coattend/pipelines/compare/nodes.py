"""Nodes of the pipeline that compares two trials."""

import logging
from pathlib import Path

from coattend.config import CompareParameters
from coattend.config.source import run_command
from coattend.errors import CoattendError, did_you_mean
from coattend.pipelines.annotations import StoredTables, Table

logger = logging.getLogger(__name__)


def compare(
    trials: Path, tables: StoredTables, parameters: CompareParameters
) -> tuple[dict[str, Table], dict[str, str]]:
    """Compare two finished trials: return the questions with both answers, and a page to look through them, each under
    ``<left>_<right>``, with the benchmark behind it where it is another than theirs."""
    from coattend.evaluation.paired import side_by_side
    from coattend.reports import trial_comparison
    from coattend.schemas import read_passage_texts
    from coattend.trials.store import answers_of, find_pair

    left, right = find_pair(trials, parameters.left, parameters.right)
    benchmark = parameters.benchmark or left.benchmark
    benchmarks = tables.benchmarks()
    if benchmark not in benchmarks:
        command = run_command(pipelines="ingestion", namespaces=benchmark, with_params=False)
        cure = f"{did_you_mean(benchmark, benchmarks)}, or write them: {command}"
        raise CoattendError(f"there are no questions of {benchmark!r}", where="compare.benchmark", cure=cure)

    questions = tables.open("questions", benchmark).to_table()
    answers = side_by_side(
        questions,
        answers_of(left, parameters.left or left.id, questions["question_id"], benchmark),
        answers_of(right, parameters.right or right.id, questions["question_id"], benchmark),
    )
    page = trial_comparison.render_html(
        f"{benchmark}: {left.entry}/{left.content['seed']} beside {right.entry}/{right.content['seed']}",
        answers,
        trial_comparison.compare_trials(answers),
        trials={"left": left.description(), "right": right.description()},
        passages=read_passage_texts(tables.open("passages", benchmark)),
        most_listed=parameters.most_listed,
    )
    name = f"{left.id}_{right.id}" if benchmark == left.benchmark else f"{left.id}_{right.id}_{benchmark}"
    logger.info("%s beside %s: %s/questions.parquet and %s/index.html", left, right, name, name)
    return {name: answers.table}, {name: page}
