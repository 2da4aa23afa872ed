"""The trainings of the plan: rows of the tables and of studies, by their worth, with an estimate of what each takes."""

import json
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel

from coattend import readers
from coattend.config import BenchmarkParameters, ReaderParameters
from coattend.config.reader import training_of
from coattend.studies import load_study, study_names
from coattend.trials.experiment import reads_apart
from perf.gpu.plan import (
    ENCODER,
    LAYERS,
    ONCE,
    PARAMETERS,
    PEAK,
    SEEDS,
    SHARE,
    SPECIAL,
    START,
    STEP,
    TAGGING,
    WIDTH,
)
from perf.prepared import Prepared

ROWS: dict[str, dict[str, Any]] = {
    "plain": {},
    "poi_net": {},
    "duma": {},
    "plain_apart": {},
    "poi_net_apart": {},
    "duma_apart": {},
    "plain_pooler": {"reader": "plain", "pooling": "cls_pooler"},
    "poi_net_no_pos": {},
    "poi_net_no_co_attention": {},
    "multi_head_block": {},
    "duma_p_to_q": {},
    "duma_q_to_p": {},
    "soft_attention": {},
    "bidaf": {},
    "dcmn": {},
}
"""The rows of the tables by name, with what differs from the entry of that name."""

FIRST = (ONCE, "poi_net_apart", "duma_apart")
"""Rows of RACE that are worth most: what the papers' interactions add where most questions are."""

OPTIONS_ONLY = ("plain_pooler",)
"""Rows that differ from another one where one vector is pooled: spans have none."""

TRAINING: dict[str, dict[str, Any]] = {
    "race": {"tokens_per_batch": 24576, "learning_rate": 1.0e-4, "evaluations": 4, "epochs": 1},
    "race apart": {"tokens_per_batch": 24576, "learning_rate": 2.0e-4, "evaluations": 4, "epochs": 1},
    "dream": {"tokens_per_batch": 12288, "learning_rate": 1.2e-4, "evaluations": 4},
    "dream apart": {"tokens_per_batch": 3072, "learning_rate": 1.2e-4, "evaluations": 4},
}
"""Training parameters that differ from those of the benchmark: one epoch of RACE, which is long, and larger batches,
which a GPU has room for, at greater rates. Pilots over 20,000 questions of RACE and one epoch of DREAM tried several;
RACE jointly ends two points lower in two of three trainings if batches have 65,536 tokens."""

TUNED_STUDY, TUNED = "ours_tuned_layers", "tuned"
"""The study whose variants are tuned alike, and what stands in the place of its name: all seeds of each configuration
are trained, and the one with the best mean score on held-out questions counts."""

RATES, DROPOUTS = (8.0e-5, 1.6e-4), (0.0, 0.1)
"""The configurations: the rate of both benchmarks and twice that, and dropout inside the encoder."""

TUNED_TRAINING: dict[str, dict[str, Any]] = {
    "dream": {"held_out": 0.15},
    "squad_v1 apart": {"tokens_per_batch": 2048},
}
"""Training parameters of them that differ: more held-out questions to choose by, and, on SQuAD with passages apart,
as many questions in a batch as the joint reader has."""

TIMED_STUDIES = {"dream": "ours_time_to_score_dream", "race": "ours_time_to_score_race"}
"""The studies whose trainings are timed until they reach a score, by benchmark."""

TIMED: dict[str, dict[str, Any]] = {
    "race": {"epochs": 1, "max_questions": 20000, "evaluations": 10},
    "dream": {"epochs": 1, "evaluations": 10},
}
"""Training parameters of them that differ from the study's: all of RACE would take the stock recipe four minutes, and
to score and save takes longer than to train in between."""

TIMED_STOCK: dict[str, Any] = {"precision": "bf16", "tokens_per_batch": 24576}
"""Those of the stock recipe: it is trained in bf16; its batches are of questions, and the tokens are those of held-out
questions that are read at once."""

ENCODERS = {0.0: ENCODER, 0.1: f"{ENCODER}_dropout"}
"""The encoder by its dropout."""

TINY = ("plain", "poi_net", "plain_apart")
"""Rows of a rehearsal."""

TINY_TUNED = ("plain", "all", "all_taught")
"""Variants that are tuned in a rehearsal."""

UNFIT = ("distillation", "train_on", "start_from", "tag_noise", "lora", "reads", "frozen")
"""Training parameters of rows that the pack has no texts for, or whose trials are no fine-tuning."""


class Size(NamedTuple):
    """Tokens of an epoch, and the pairs of tokens in attention, where a passage is read with each option or question,
    and where it is read once."""

    joint: tuple[float, float]
    apart: tuple[float, float]


def sizes_of(arrays: Mapping[str, np.ndarray], max_length: int) -> Size:
    """Count the tokens of a benchmark's training questions; a passage that is too long counts as cut."""
    names = arrays["split"].tobytes().decode().split("\n")
    lengths = arrays["lengths"].astype(np.int64)
    ends = np.cumsum(arrays["text_count"].astype(np.int64))
    joint, apart, read = np.zeros(2), np.zeros(2), set()
    for number, split in enumerate(names):
        if split != "train":
            continue
        texts = lengths[arrays["texts"][ends[number] - int(arrays["text_count"][number]) : ends[number]]]
        passage = int(lengths[arrays["passage"][number]])
        # The question, behind which each option stands; a span has no options.
        questions = texts if len(texts) == 1 or arrays["filled"][number] else texts[0] + texts[1:]
        passage = min(passage, max_length - SPECIAL - int(questions.max()))
        whole = passage + questions + SPECIAL
        joint += (whole.sum(), (whole**2).sum())
        apart += ((questions + 1).sum(), (questions * (passage + questions)).sum())
        if arrays["passage"][number] not in read:
            read.add(int(arrays["passage"][number]))
            apart += (passage + 2, (passage + 2) ** 2)
    return Size((float(joint[0]), float(joint[1])), (float(apart[0]), float(apart[1])))


def queue(prepared: Prepared, sizes: Mapping[str, Size], *, tiny: bool = False) -> list[dict[str, Any]]:
    """List all trainings in the order of their worth: what is tuned, the rows of the tables, studies.

    Each has a key and a place, its row and study, the benchmark, the reader's entry, the seed, and the estimated
    seconds of the GPU and of the process.
    """
    rows = [*_tuned_rows(prepared, tiny=tiny), *_table_rows(prepared, tiny=tiny)]
    if not tiny:
        rows += _study_rows(prepared, known={_signature(row) for row in rows})
    rows = [row | _estimate(prepared, row, sizes) for row in rows]
    trainings = [
        row | {"seed": seed, "key": f"{row['benchmark']}-{row['study']}-{row['row']}-{seed}"}
        for row in rows
        for seed in (SEEDS[:1] if tiny else SEEDS)
    ]
    order = {benchmark: number for number, benchmark in enumerate(prepared.benchmarks)}
    trainings.sort(key=lambda training: _worth(training, order))
    return [training | {"place": place} for place, training in enumerate(trainings)]


def timed(prepared: Prepared, *, tiny: bool = False) -> list[dict[str, Any]]:
    """List the trainings whose time to a score is measured, in their order: for each benchmark that has such a study
    passages read once and joint `plain`, in the batches of the tables, with all seeds of one after another. The stock
    recipe, which takes longest, stands at the end of all, seed by seed.

    A rehearsal has those of RACE on its own benchmark.
    """
    trainings = []
    places = {"race": prepared.benchmarks[0]} if tiny else {name: name for name in TIMED_STUDIES}
    for benchmark, here in places.items():
        if here not in prepared.benchmarks:
            continue
        study = load_study(TIMED_STUDIES[benchmark])
        given = {"epochs": 1, "evaluations": 2} if tiny else study.parameters.training[benchmark] | TIMED[benchmark]
        described = {
            "benchmark": here,
            "questions": given.get("max_questions"),
            "threshold": study.parameters.thresholds[benchmark],
        }
        batches = {ONCE: TRAINING[f"{benchmark} apart"], "plain": TRAINING[benchmark], "stock": TIMED_STOCK}
        for variant, batch in batches.items():
            entry = _entry(variant, plain_values(study.entry(variant)), {})
            entry["training"] |= batch | given
            entry["training"].pop("seeds")
            for seed in SEEDS[:1] if tiny else SEEDS:
                training = {"row": variant, "entry": entry, "seed": seed}
                trainings.append(described | training | {"key": f"{here} {variant} {seed}"})
    return sorted(trainings, key=lambda each: (each["row"] == "stock") * (1 + each["seed"]))


def _worth(training: Mapping[str, Any], order: Mapping[str, int]) -> tuple[int, ...]:
    """Return what a training is sorted by: the first rows of RACE; then, benchmark by benchmark, what is tuned and the
    tables; what learns from a teacher; RACE joint; and studies, the long ones last. All seeds of a row stand before the
    next row, since a table is cut by rows."""
    study, benchmark = training["study"], training["benchmark"]
    is_long = benchmark == "race" and not training["apart"]
    row = list(ROWS).index(training["row"]) if training["row"] in ROWS else len(ROWS)
    if study == TUNED:
        return (2 if "teacher" in training else 1), order[benchmark], -1
    if study == "tables":
        kind = 0 if benchmark == "race" and training["row"] in FIRST else 3 if is_long else 1
    else:
        kind = 5 if is_long else 4
    return kind, order[benchmark], row


def _table_rows(prepared: Prepared, *, tiny: bool) -> list[dict[str, Any]]:
    parameters = prepared.parameters
    rows = []
    for benchmark in prepared.benchmarks:
        task = _task(prepared, benchmark)
        for name, changes in ROWS.items():
            entry = _entry(name, parameters["readers"].get(changes.get("reader", name), {}), changes)
            if not readers.fits(entry["reader"], [task]) or (task == "span" and name in OPTIONS_ONLY):
                continue
            apart = reads_apart(_resolved(entry, task))
            training = entry["training"] | TRAINING.get(f"{benchmark} apart" if apart else benchmark, {})
            if not tiny or name in TINY:
                rows.append(_row("tables", name, benchmark, entry | {"training": training}, task, apart=apart))
    return rows


def _tuned_rows(prepared: Prepared, *, tiny: bool) -> Iterator[dict[str, Any]]:
    """Yield the configurations of each variant that is tuned; a rehearsal has two of three, on its own benchmark."""
    study, configurations = load_study(TUNED_STUDY), list(product(RATES, DROPOUTS[:1] if tiny else DROPOUTS))
    trials = len(configurations) * (1 if tiny else len(SEEDS))
    for benchmark in prepared.benchmarks:
        task, here = _task(prepared, benchmark), study.parameters.benchmarks[0] if tiny else benchmark
        variants = [name for name in study.parameters.variants if here in study.parameters.benchmarks_of(name)]
        teachers: dict[str | None, Any] = {study.parameters.learns_from(variant): {} for variant in variants}
        for variant, (rate, dropout) in product(variants, configurations):
            if tiny and variant not in TINY_TUNED:
                continue
            entry = _entry(variant, plain_values(study.entry(variant)), {}) | {"encoder": ENCODERS[dropout]}
            apart = reads_apart(_resolved(entry, task))
            given = TUNED_TRAINING.get(benchmark, {}) | TUNED_TRAINING.get(f"{benchmark} apart" if apart else "", {})
            entry["training"] |= given | {"learning_rate": rate}
            entry["training"].pop("seeds")
            row = _row(TUNED, f"{variant}-{rate:g}-{dropout:g}", benchmark, entry, task, apart=apart)
            row |= {"variant": variant, "rate": rate, "dropout": dropout, "trials": trials}
            # A teacher has its first configuration: others learn from it before it is known which one is the best.
            if teachers.get(variant) == {}:
                teachers[variant] = entry
                row["teaches"] = True
            teacher = study.parameters.learns_from(variant)
            yield row | ({"teacher": teachers[teacher]} if teacher is not None else {})


def plain_values(block: Any) -> Any:
    """Return parameters, as Kedro loads or validates them, as JSON values; what nobody has set is left out."""

    def convert(value: Any) -> Any:
        return value.model_dump(mode="json", exclude_unset=True) if isinstance(value, BaseModel) else dict(value)

    return json.loads(json.dumps(block, default=convert))


def _entry(name: str, entry: Any, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reader's entry with all options beside its fields, over the packed texts."""
    plain: dict[str, Any] = plain_values(entry)
    plain |= plain.pop("options", {})
    plain |= {"reader": plain.get("reader", name), **changes, "name": name, "benchmarks": None}
    return plain | {"encoder": ENCODER, "tagging": TAGGING, "training": dict(plain.get("training") or {})}


def _options(entry: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: value for name, value in entry.items() if name not in ReaderParameters.model_fields}
    return {**entry.get("options", {}), **options}


def _task(prepared: Prepared, benchmark: str) -> str:
    """Return the task of a benchmark that is packed: options, or spans where it has no options."""
    tasks = BenchmarkParameters.model_validate(prepared.parameters["benchmarks"][benchmark]).answerable
    return next(task for task in ("options", "span") if task in tasks)


def _resolved(entry: Mapping[str, Any], task: str) -> dict[str, Any]:
    head = readers.head_for(entry["reader"], [task], entry.get("head"))
    return readers.resolve(entry["reader"], head=head, **_options(entry))


def _row(study: str, name: str, benchmark: str, entry: Mapping[str, Any], task: str, *, apart: bool) -> dict[str, Any]:
    return {"study": study, "row": name, "benchmark": benchmark, "task": task, "entry": dict(entry), "apart": apart}


def _signature(row: Mapping[str, Any]) -> str:
    """Return what makes two rows the same training."""
    entry, task = row["entry"], row["task"]
    head = readers.head_for(entry["reader"], [task], entry.get("head"))
    options = _resolved(entry, task)
    return json.dumps([row["benchmark"], entry["reader"], head, options, entry["training"]], sort_keys=True)


def _study_rows(prepared: Prepared, *, known: set[str]) -> list[dict[str, Any]]:
    """List the variants of studies that are trained on the packed texts with MiniLM and are no row of the tables."""
    rows = []
    for name in study_names():
        study = load_study(name)
        for variant, benchmark in study.trainings:
            if benchmark not in prepared.benchmarks:
                continue
            before, task = plain_values(study.entry(variant)), _task(prepared, benchmark)
            if not _is_fit(before, task):
                continue
            entry = _entry(variant, before, {})
            entry["training"] = study.parameters.training.get(benchmark, {}) | entry["training"]
            entry["training"].pop("seeds", None)
            row = _row(name, variant, benchmark, entry, task, apart=reads_apart(_resolved(entry, task)))
            if _signature(row) not in known:
                known.add(_signature(row))
                rows.append(row)
    return rows


def _is_fit(entry: Mapping[str, Any], task: str) -> bool:
    """Tell whether a variant reads the packed subwords and tags, and is fine-tuned."""
    reader = entry["reader"]
    wired = entry.get("encoder", ENCODER) == ENCODER and entry.get("tagging", TAGGING) == TAGGING
    trained = readers.is_trained(reader) and readers.encoder_of(reader) == "transformer"
    plain = all(entry["training"].get(name) in (None, False, 0.0, {}, "all") for name in UNFIT)
    return wired and trained and plain and readers.fits(reader, [task], entry.get("head"))


def _estimate(prepared: Prepared, row: Mapping[str, Any], sizes: Mapping[str, Size]) -> dict[str, float]:
    """Estimate the seconds of a row's training: of the GPU, and of its process."""
    benchmark = BenchmarkParameters.model_validate(prepared.parameters["benchmarks"][row["benchmark"]])
    training = training_of(benchmark, ReaderParameters.model_validate(row["entry"]), recurrent=False)
    size = sizes[row["benchmark"]]
    tokens, pairs = (number * training.epochs for number in (size.apart if row["apart"] else size.joint))
    operations = 6 * PARAMETERS * tokens + 12 * LAYERS * WIDTH * pairs
    # Scoring the held-out questions takes a third of training on them.
    scored = 1 + training.held_out * training.evaluations / 3 / training.epochs
    steps = tokens / training.tokens_per_batch
    return {
        "gpu_seconds": round(operations / (PEAK * SHARE) * scored, 1),
        "process_seconds": round(START + STEP * steps * scored, 1),
    }
