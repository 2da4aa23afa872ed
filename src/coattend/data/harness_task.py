"""A benchmark as tasks of lm-evaluation-harness: tables of what a language model is asked, and the files on top.

Questions with options, and missing words with candidates, become tasks of type ``multiple_choice``, whose prompts are
those of `coattend.readers.prompts`; spans become tasks of type ``generate_until``, where a model writes its answer.
Each subset is a task of its own, and several form a group.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import yaml

from coattend.config import BenchmarkParameters, ExportParameters
from coattend.errors import CoattendError
from coattend.evaluation.groups import TRAINING_SPLIT
from coattend.readers.prompts import SEPARATOR, Inquiry, Prompt, write_prompt
from coattend.schemas import HARNESS, QuestionRow, read_passage_texts
from coattend.text.cloze import blank_to_fill
from coattend.text.hashing import text_id

PREFIX = "coattend"
"""Beginning of the tasks' names, by which they differ from the harness's own."""
SCORED = ("test", "dev")
"""Splits that a task scores where its parameter names none: the first that has answers."""
UNANSWERABLE = "unanswerable"
"""The right answer to a question that its passage does not answer."""
LOADER = "tables.py"
"""Name of the file that loads tables; the harness looks for it beside a task's YAML."""
LOADER_SOURCE = '''"""Loads the tables of this folder's tasks."""

from pathlib import Path

import datasets

FOLDER = Path(__file__).resolve().parent.parent / "tables"


def load(tables, **_):
    """Load some tables by their names, each as a split."""
    return datasets.load_dataset("parquet", data_files={name: str(FOLDER / f"{name}.parquet") for name in tables})
'''

_METRICS: dict[str, dict[str, object]] = {
    "acc": {},
    "acc_norm": {},
    # Answers are compared as SQuAD's scorer compares them: without case, punctuation, articles and spaces around.
    "exact_match": {
        "ignore_case": True,
        "ignore_punctuation": True,
        "regexes_to_ignore": [r"(?i)\b(?:a|an|the)\b\s*", r"^\s+|\s+$"],
    },
}
"""Settings of the harness's metrics."""
_INDEX_COLUMNS = ["question_id", "group", "split", "subset", "task", "label", "answers"]


class _Function(str):
    """Name of a function in a file beside the YAML."""


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]  # PyYAML has no types.
    """Writes line ends as ``\\n``, and functions with the harness's tag."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if "\n" in text else None)


def _represent_function(dumper: yaml.SafeDumper, name: _Function) -> yaml.ScalarNode:
    return dumper.represent_scalar("!function", name)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(_Function, _represent_function)


class HarnessTask(NamedTuple):
    """Files by their names, and tables by the names of the splits that they are.

    Attributes:
        names: The tasks and groups to run, such as ``coattend_race`` for all of its subsets.
    """

    names: list[str]
    files: dict[str, str]
    tables: dict[str, pa.Table]


class _Part(NamedTuple):
    """The questions of one task: those that are scored, and those that examples are drawn from."""

    name: str
    task: str
    split: str
    scored: pa.Table
    examples: pa.Table


def run_with(names: Sequence[str]) -> str:
    """Write the command that runs tasks or groups."""
    return f"lm_eval --include_path <data>/08_reporting/harness --tasks {','.join(names)}"


def harness_task(
    questions: pads.Dataset, passages: pads.Dataset, benchmark: BenchmarkParameters, parameters: ExportParameters
) -> HarnessTask:
    """Write a benchmark as tasks of lm-evaluation-harness.

    Raises:
        CoattendError: If no question of a split that can be scored has a known answer, or has more options than there
            are letters.
    """
    groups: dict[str, list[_Part]] = {}
    for group, part in _parts(questions, benchmark, parameters):
        groups.setdefault(group, []).append(part)
    if not groups:
        splits = sorted(set(pc.unique(questions.to_table(columns=["split"])["split"]).to_pylist()) - {TRAINING_SPLIT})
        problem = f"none of its questions has a known answer in {parameters.split or ' or '.join(SCORED)}"
        cure = f"Name another split: {', '.join(splits)}" if splits else None
        raise CoattendError(problem, where=benchmark.title, cure=cure)

    files = {LOADER: LOADER_SOURCE}
    tables: dict[str, pa.Table] = {}
    for group, parts in groups.items():
        for part in parts:
            named = {_table_name(part, part.split): part.scored, _table_name(part, TRAINING_SPLIT): part.examples}
            written = {name: _prompts(rows, passages, benchmark, parameters) for name, rows in named.items() if rows}
            tables |= written
            files[f"{part.name}.yaml"] = _task_file(part, list(written), benchmark, parameters)
        if [part.name for part in parts] != [group]:
            files[f"{group}.yaml"] = _group_file(group, parts, benchmark, parameters)
    return HarnessTask(list(groups), files, tables)


def _parts(
    questions: pads.Dataset, benchmark: BenchmarkParameters, parameters: ExportParameters
) -> Iterator[tuple[str, _Part]]:
    """Yield the name of a group of tasks with each of its tasks, in alphabetical order."""
    splits_to_try = [parameters.split] if parameters.split else SCORED
    index = questions.to_table(columns=_INDEX_COLUMNS)
    # Passages of any other split, or of another subset, must not stand in examples.
    asked = pc.unique(index["group"].filter(pc.not_equal(_text(index, "split"), TRAINING_SPLIT)))
    is_span = pc.equal(_text(index, "task"), "span")
    index = index.filter(pc.if_else(is_span, pc.is_valid(index["answers"]), pc.is_valid(index["label"])))
    for task in sorted(pc.unique(_text(index, "task")).to_pylist()):
        of_task = index.filter(pc.equal(_text(index, "task"), task))
        group = "_".join([PREFIX, benchmark.name, *([task] if len(benchmark.tasks) > 1 else [])])
        subsets = sorted(pc.unique(_text(of_task, "subset")).to_pylist(), key=str)
        for subset in subsets:
            rows = of_task.filter(pc.equal(pc.fill_null(_text(of_task, "subset"), ""), subset or ""))
            splits = set(pc.unique(_text(rows, "split")).to_pylist()) - {TRAINING_SPLIT}
            split = next((name for name in splits_to_try if name in splits), None)
            if split is None:
                continue
            scored = rows.filter(pc.equal(_text(rows, "split"), split))
            examples = _drawn(rows, asked, parameters.examples)
            name = group if len(subsets) == 1 else f"{group}_{_word(subset or 'other')}"
            yield group, _Part(name, task, split, *(_whole(questions, chosen) for chosen in (scored, examples)))


def _drawn(rows: pa.Table, asked: pa.Array, count: int) -> pa.Table:
    """Draw training questions by a hash of their ids, of none of the groups of passages that are asked about."""
    is_train = pc.equal(_text(rows, "split"), TRAINING_SPLIT)
    free = rows.filter(pc.and_(is_train, pc.invert(pc.is_in(rows["group"], asked))))
    order = sorted(range(len(free)), key=[text_id(name) for name in free["question_id"].to_pylist()].__getitem__)
    return free.take(pa.array(order[:count], pa.int64()))


def _whole(questions: pads.Dataset, chosen: pa.Table) -> pa.Table:
    return questions.to_table(filter=pads.field("question_id").isin(chosen["question_id"].combine_chunks()))


def _prompts(
    rows: pa.Table, passages: pads.Dataset, benchmark: BenchmarkParameters, parameters: ExportParameters
) -> pa.Table:
    """Write questions as rows of `HARNESS`."""
    texts = read_passage_texts(passages, rows["passage_id"])
    written = [_row(row, texts[row["passage_id"]].strip(), benchmark, parameters) for row in rows.to_pylist()]
    return pa.Table.from_pylist(written, HARNESS)


def _row(
    row: QuestionRow, passage: str, benchmark: BenchmarkParameters, parameters: ExportParameters
) -> dict[str, object]:
    texts = {name: row[name] for name in ("question_id", "question", "options", "label")}
    if row["task"] == "span":
        stem = write_prompt(Inquiry(None, row["question"], ())).context
        answers = list(dict.fromkeys(answer["text"] for answer in row["answers"] or ())) or [UNANSWERABLE]
        return {**texts, "passage": passage, "answers": answers, "stem": stem, "choices": None}
    blank = blank_to_fill(row["task"], row["question"], fill_blanks=benchmark.fill_blanks)
    inquiry = Inquiry(None, row["question"], tuple(row["options"] or ()), blank)
    try:
        stem, choices = _behind_a_space(write_prompt(inquiry, parameters.answer_by))
    except ValueError as error:
        cure = "Export it with export.answer_by: text"
        raise CoattendError(str(error), where=f"question {row['question_id']}", cure=cure) from None
    return {**texts, "passage": passage, "answers": None, "stem": stem, "choices": choices}


def _behind_a_space(prompt: Prompt) -> tuple[str, list[str]]:
    """Return a context and what may follow it behind a space, which the harness writes between them."""
    context, continuations = prompt.context, prompt.continuations
    if not all(text.startswith(" ") for text in continuations):
        # Something is glued to the blank, such as an opening bracket: the choices begin with it.
        context, _, glued = context.rpartition(" ")
        return context, [glued + text for text in continuations]
    return context, [text.removeprefix(" ") for text in continuations]


def _task_file(part: _Part, tables: Sequence[str], benchmark: BenchmarkParameters, parameters: ExportParameters) -> str:
    """Write the YAML of a task; the first of its tables is scored, and a second one holds examples."""
    content: dict[str, object] = {
        "task": part.name,
        "custom_dataset": _Function(f"{LOADER.removesuffix('.py')}.load"),
        "dataset_kwargs": {"tables": list(tables)},
    }
    content["validation_split" if part.split == "dev" else "test_split"] = tables[0]
    if len(tables) > 1:
        content["fewshot_split"] = tables[1]
    content["doc_to_text"] = f"Passage: {{{{passage}}}}{SEPARATOR}{{{{stem}}}}"
    if part.task == "span":
        otherwise = "" if pc.all(part.scored["answerable"]).as_py() else f', or "{UNANSWERABLE}" where it has no answer'
        content |= {
            "output_type": "generate_until",
            "description": f"Answer each question with words of its passage{otherwise}.{SEPARATOR}",
            "doc_to_target": "answers",
            "generation_kwargs": {"until": ["\n"], "max_gen_toks": 64, "do_sample": False},
        }
    else:
        content |= {"output_type": "multiple_choice", "doc_to_choice": "choices", "doc_to_target": "label"}
    content["metric_list"] = [
        {"metric": name, "aggregation": "mean", "higher_is_better": True, **_METRICS[name]}
        for name in _metrics(part, parameters)
    ]
    content["metadata"] = {"version": benchmark.version}
    text = f"{benchmark.title}, {part.split}: {len(part.scored):,} questions"
    return _heading(text, part.name) + _yaml(content)


def _group_file(
    group: str, parts: Sequence[_Part], benchmark: BenchmarkParameters, parameters: ExportParameters
) -> str:
    """Write the YAML of a group, whose metrics count each question of its tasks alike."""
    means = [{"metric": name, "aggregation": "mean", "weight_by_size": True} for name in _metrics(parts[0], parameters)]
    content = {
        "group": group,
        "task": [part.name for part in parts],
        "aggregate_metric_list": means,
        "metadata": {"version": benchmark.version},
    }
    questions = sum(len(part.scored) for part in parts)
    return _heading(f"{benchmark.title}: {questions:,} questions", group) + _yaml(content)


def _metrics(part: _Part, parameters: ExportParameters) -> list[str]:
    if part.task == "span":
        return ["exact_match"]
    # Letters are equally long.
    return ["acc"] if parameters.answer_by == "letter" else ["acc", "acc_norm"]


def _heading(text: str, name: str) -> str:
    return f"# {text}. Run it with: {run_with([name])}\n"


def _yaml(content: Mapping[str, object]) -> str:
    return str(yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1000))


def _table_name(part: _Part, split: str) -> str:
    return f"{part.name.removeprefix(f'{PREFIX}_')}_{_word(split)}"


def _word(text: str) -> str:
    """Write a name in letters, digits and underscores, as those of splits and tasks have to be."""
    return re.sub(r"\W+", "_", text.lower())


def _text(table: pa.Table, column: str) -> pa.ChunkedArray:
    return table[column].cast(pa.string())
