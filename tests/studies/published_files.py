"""The sample's passages as the files that benchmarks are published as: their names, folders and formats."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from coattend.data.synthetic import serializers

CHANGES = 0.2
"""Share of passages in which a fact changes, as in the sample."""
SIZES = {"train": 12, "dev": 10, "test": 10}
"""Passages of each split; calibration divides the questions of dev into ten parts."""
CBT_FILES = {"train": "train", "dev": "valid_2000ex", "test": "test_2500ex"}
NEWS_FOLDERS = {"train": "training", "dev": "validation", "test": "test"}
SHIFTS = ("new_wiki", "nyt", "reddit", "amazon_reviews")
RECAM_TRIAL = "Task_3_Intersection"

Examples = Sequence[str]
"""Ids or texts of questions that dev must have."""
Files = Iterator[tuple[str, str]]
"""Paths below the raw folder, with contents."""


def write_published_files(folder: Path, examples: Mapping[str, Examples]) -> None:
    """Write the files of every benchmark of `WRITERS`.

    Args:
        folder: The raw folder.
        examples: Benchmark to the questions that studies show, which some passages of dev take the names of.
    """
    for benchmark, files in WRITERS.items():
        for path, content in files(examples.get(benchmark, ())):
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)


def _written(write: Callable[..., Iterator[str | bytes]], name: str, split: str, passages: range) -> str:
    """Write a file's passages; its name is the seed."""
    parts = write(Random(name), split, passages, CHANGES)
    return "".join(part for part in parts if isinstance(part, str))


def _dream(examples: Examples) -> Files:
    """Write dialogues, and the types that annotators give to the questions of dev."""
    for split, size in SIZES.items():
        dialogues = json.loads(_written(serializers.dream, f"dream {split}", split, range(size)))
        if split == "dev":
            for dialogue, example in zip(dialogues, examples, strict=False):
                dialogue[2] = example.rpartition("-")[0]
            lines = (f"{name}\t{number}\t{'mlsac'[number]}\n" for _, _, name in dialogues for number in (1, 2))
            yield "dream/annotation/annotator1_dev.txt", "".join(lines)
        yield f"dream/{split}.json", json.dumps(dialogues)


def _race(examples: Examples) -> Files:
    ids = [example.rpartition("-")[0] for example in examples]
    for split, size in SIZES.items():
        for number in range(size):
            article = json.loads(_written(serializers.race, f"race {split} {number}", split, range(number, number + 1)))
            level = article["id"].partition("-")[0]
            # An article takes the name of an example of its level.
            if split == "dev" and (named := next((name for name in ids if name.startswith(level)), None)):
                article["id"] = ids.pop(ids.index(named))
            yield f"race/RACE/{split}/{level}/{number}.txt", json.dumps(article)


def _squad(version: str, examples: Examples) -> Files:
    write = partial(serializers.squad, version)
    for split in ("train", "dev"):
        squad = json.loads(_written(write, f"squad {version} {split}", split, range(SIZES[split])))
        if split == "dev":
            questions = [paragraph["qas"][0] for article in squad["data"] for paragraph in article["paragraphs"]]
            for question, example in zip(questions, examples, strict=False):
                question["question"] = example
        yield f"squad/{split}-v{version.removeprefix('v')}.json", json.dumps(squad)


def _squad_shifts(_: Examples) -> Files:
    for domain in SHIFTS:
        content = _written(partial(serializers.squad, "1.1"), f"squad shifts {domain}", domain, range(3))
        yield f"squad/squadshifts/{domain}_v1.0.json", content


def _recam(_: Examples) -> Files:
    for split in ("train", "dev"):
        for task in (1, 2):
            content = _written(serializers.recam, f"recam {split} {task}", split, range(2 * SIZES[split]))
            yield f"recam/Task_{task}_{split}.jsonl", content
    yield f"recam/{RECAM_TRIAL}.jsonl", _written(serializers.recam, RECAM_TRIAL, "trial", range(SIZES["dev"]))


def _cbt(_: Examples) -> Files:
    for split, size in SIZES.items():
        for subset in ("NE", "CN"):
            content = _written(partial(serializers.cbt, subset), f"cbt {split} {subset}", split, range(size))
            yield f"cbt/data/cbtest_{subset}_{CBT_FILES[split]}.txt", content


def _mctest(_: Examples) -> Files:
    for subset in ("mc160", "mc500"):
        for split in ("train", "dev"):
            lines, answers = [], []
            for number, exam in enumerate(_exams(f"{subset} {split}", split)):
                asked = [(exam["questions"][i], exam["options"][i], exam["answers"][i]) for i in (0, 1, 0, 1)]
                questions = [cell for question, options, _ in asked for cell in (f"one: {question}", *options)]
                lines.append("\t".join([f"{subset}.{split}.{number}", "", exam["article"], *questions]))
                answers.append("\t".join(letter for *_, letter in asked))
            yield f"mctest/{subset}.{split}.tsv", "\n".join(line.replace("\n", "\\newline") for line in lines)
            yield f"mctest/{subset}.{split}.ans", "\n".join(answers)


def _cosmos_qa(_: Examples) -> Files:
    """Write dev alone, as it lies where train was not fetched."""
    file = io.StringIO()
    rows = csv.writer(file)
    rows.writerow(["id", "context", "question", *(f"answer{number}" for number in range(4)), "label"])
    for number, exam in enumerate(_exams("cosmos", "dev")):
        for index, letter in enumerate(exam["answers"]):
            texts = (exam["article"], exam["questions"][index], *exam["options"][index])
            rows.writerow([f"{number}-{index}", *texts, "ABCD".index(letter)])
    yield "cosmos_qa/valid.csv", file.getvalue()


def _exams(name: str, split: str) -> Iterator[dict[str, Any]]:
    for number in range(2 * SIZES[split]):
        yield json.loads(_written(serializers.race, f"{name} {number}", split, range(number, number + 1)))


def _c3(_: Examples) -> Files:
    places, things = ("客厅", "阁楼", "花园", "厨房"), ("台灯", "沙发", "自行车", "书包", "雨伞")
    for kind in "md":
        for split, size in SIZES.items():
            documents = []
            for number in range(size):
                thing, place = things[number % 5], places[number % 4]
                texts = [f"女：第{number}天，{thing}在哪儿？", f"男：{kind}{split}，{thing}在{place}里。"]
                choices = [f"在{name}里。" for name in places[: 4 if place == "厨房" else 3]]
                question = {"question": f"{thing}在哪儿？", "choice": choices, "answer": f"在{place}里。"}
                documents.append([texts, [question], f"{split}{number}"])
            yield f"c3/c3-{kind}-{split}.json", json.dumps(documents)


def _news(folder: str, _: Examples) -> Files:
    for split, size in SIZES.items():
        for number in range(size):
            content = _written(serializers.cnn, f"{folder} {split} {number}", split, range(number, number + 1))
            yield f"{folder}/questions/{NEWS_FOLDERS[split]}/{split}{number}.question", content


WRITERS: dict[str, Callable[[Examples], Files]] = {
    "c3": _c3,
    "cbt": _cbt,
    "cnn": partial(_news, "cnn"),
    "cosmos_qa": _cosmos_qa,
    "daily_mail": partial(_news, "dailymail"),
    "dream": _dream,
    "mctest": _mctest,
    "race": _race,
    "recam": _recam,
    "squad_shifts": _squad_shifts,
    "squad_v1": partial(_squad, "1.1"),
    "squad_v2": partial(_squad, "v2.0"),
}
"""Benchmark to the files of its splits."""
