"""Record what must not change in a folder, and compare two recordings.

    python tests/unchanged.py record FOLDER [--full] [--parts 1,3] [--project PATH]
    python tests/unchanged.py compare FOLDER_A FOLDER_B [--parts 1,3] [--without nodes.json]

The parts: 1 outputs of every reader, 2 tables of benchmarks, 3 trained readers of the sample, 4 parameters, studies,
catalog and pipelines, 5 messages of mistakes. The package is the one that Python imports (``PYTHONPATH=src``);
``conf`` and ``pyproject.toml`` are copied from the project. Real benchmarks are read from ``COATTEND_RAW``.
"""

import argparse
import dataclasses
import hashlib
import importlib
import importlib.util
import json
import os
import pkgutil
import random
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PARTS = {1: "readers", 2: "tables", 3: "training", 4: "studies", 5: "messages"}
DEFAULT_READERS = ("plain", "plain_span", "poi_net", "poi_net_span", "aoa_reader")
FLOAT_32 = "benchmarks.sample.training.precision=fp32"
ENVIRONMENT = "unchanged"
"""An environment of this script's own, so that a change of another one changes nothing here."""
GLOBALS = "tables: data/unchanged\nresults: data/unchanged\n"
PARAMETERS = """\
benchmarks:
  sample:
    generator:
      dialogues: { train: 40, dev: 12 }
      stories: { train: 40, dev: 12 }
      clozes: { train: 4, dev: 2 }
      tales: { train: 2, dev: 1 }
      exams: { train: 2, dev: 1 }
      summaries: { train: 2, dev: 1 }
      news: { train: 2, dev: 1 }
      rows: { train: 2, dev: 1 }
    shards: 2
    workers: 1
    training:
      epochs: 1
      evaluations: 2
      max_questions: 24
      tokens_per_batch: 1024
      precision: fp32
    recurrent: { epochs: 2 }
prediction: { workers: 1 }
tracking: { models: false }
study: { processes: 1 }
"""


# What lies inside the package, wherever it lies.


def inner(name: str, *modules: str) -> Any:
    """A class of the package that is no contract of its own, from the first of the modules that has it."""
    for module in modules:
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
    package = importlib.import_module(modules[0].rpartition(".")[0])
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        member = getattr(importlib.import_module(module.name), name, None)
        if member is not None:
            return member
    raise SystemExit(f"{name} is in none of {', '.join(modules)}: name its module in tests/unchanged.py")


def batch_class() -> Any:
    return inner("Batch", "coattend.readers.batch", "coattend.readers.interfaces")


def words_class() -> Any:
    return inner("Words", "coattend.readers.encoders.words", "coattend.readers.encoders.word_embeddings")


# Projects and commands


def new_project(source: Path, folder: Path) -> Path:
    """An empty project with the configuration of another one, and an environment of its own."""
    folder.mkdir(parents=True)
    shutil.copytree(source / "conf", folder / "conf")
    for name in ("pyproject.toml", ".telemetry"):
        if (source / name).is_file():
            shutil.copy(source / name, folder / name)
    (folder / "src").mkdir()
    environment = folder / "conf" / ENVIRONMENT
    environment.mkdir()
    (environment / "globals.yml").write_text(GLOBALS)
    (environment / "parameters.yml").write_text(PARAMETERS)
    return folder


def package_root() -> Path:
    """The folder from which the package is imported."""
    spec = importlib.util.find_spec("coattend")
    if spec is None or spec.origin is None:
        raise SystemExit("coattend cannot be imported: set PYTHONPATH to its folder src")
    return Path(spec.origin).resolve().parents[1]


def environment_of(**changes: str | None) -> dict[str, str]:
    """The environment of a command: one thread, this package, and no settings of who runs it."""
    settings: dict[str, str | None] = {
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "5000",
        "PYTHONWARNINGS": "ignore",
        "PYTHONPATH": str(package_root()),
        "MLFLOW_TRACKING_URI": None,
        "COATTEND_RAW": None,
        "KEDRO_ENV": None,
        "HF_HUB_OFFLINE": "1",
        "NO_COLOR": "1",
    } | changes
    base = {name: value for name, value in os.environ.items() if name not in settings}
    return base | {name: value for name, value in settings.items() if value is not None}


def run(project: Path, *arguments: str, **changes: str | None) -> subprocess.CompletedProcess:
    """Run a command of the package as a user does."""
    command = [sys.executable, "-m", "kedro", *arguments]
    return subprocess.run(
        command, cwd=project, env=environment_of(**changes), capture_output=True, text=True, check=False, timeout=3600
    )


def must_run(project: Path, *arguments: str, **changes: str | None) -> None:
    """Run a Kedro command that must not fail."""
    began = time.time()
    process = run(project, *arguments, **changes)
    if process.returncode:
        raise SystemExit(f"kedro {' '.join(arguments)} failed:\n{process.stdout[-3000:]}\n{process.stderr[-3000:]}")
    print(f"  kedro {' '.join(arguments)}: {time.time() - began:.0f} s", flush=True)


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def plain_json(value: Any) -> Any:
    """The same as JSON values."""
    if hasattr(value, "model_dump"):
        return plain_json(value.model_dump(mode="json"))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain_json(dataclasses.asdict(value))
    if isinstance(value, Mapping):
        return {str(key): plain_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(part) for part in value]
    if isinstance(value, set | frozenset):
        return sorted(plain_json(part) for part in value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


# Part 1: readers

PADDING, CLS, SEP, FIRST_WORD, VOCABULARY, TAGS = 0, 2, 3, 5, 61, 39
HEADS = {"options": "options", "span": "span", "dynamic_span": "span", "word": "word", "vocabulary": "word"}
"""Heads, and the task that each answers."""

INTERACTIONS = (
    "attention_over_attention",
    "attention_sum",
    "attentive",
    "bidaf",
    "bilinear",
    "coattention",
    "consensus_attention",
    "dcmn",
    "deep_residual_coattention",
    "dual_multi_head",
    "gated",
    "iterative_co_attention",
    "multi_head_block",
    "none",
    "sequential_multi_head",
    "soft_attention",
)
VARIANTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("plain", "options", {"pooling": "cls_pooler"}),
    ("plain", "options", {"pooling": "max", "fuse": "concatenate", "tag_embedding": True}),
    ("plain", "span", {"tag_embedding": True, "loss": "mean", "score": "softmax"}),
    ("poi_net", "options", {"turns": 0}),
    ("poi_net", "options", {"turns": 2, "strategy": "average", "pooling": "mean"}),
    ("poi_net", "options", {"strategy": "weighted", "fuse": "multiply"}),
    ("poi_net", "span", {"turns": 2, "strategy": "intuition"}),
    ("poi_net", "options", {"beta": "learned", "compared": "attended"}),
    ("poi_net", "options", {"strategy": "gate", "pooling": "mean"}),
    ("duma", "options", {"fuse": "multiply", "layers": 2, "output_projection": True, "heads": 2}),
    ("duma", "options", {"direction": "passage_to_question", "fuse": "joint", "pooling": "max"}),
    ("duma", "options", {"direction": "question_to_passage"}),
    ("duma", "options", {"block": "transformer", "layers": 2, "fuse": "sum"}),
    ("duma", "span", {"block": "transformer", "direction": "passage_to_question", "tag_embedding": True}),
    ("recam_duma", "options", {"order": "passage_first", "layers": 2, "share_layers": False, "scorer_layers": 2}),
    ("recam_duma", "options", {"heads": 3, "head_width": 5, "pooling": "max", "fuse": "multiply"}),
    ("soft_attention", "options", {"comparison": "additive"}),
    ("dcmn", "options", {"variant": "released"}),
    ("bidaf", "options", {"narrow": 0}),
    ("multi_head_block", "span", {"turns": 3}),
    ("aoa_reader", "word", {"cell": "lstm", "tag_embedding": True, "choose": "document"}),
    ("as_reader", "word", {"directions": 1, "train_vectors": True, "normalise": "candidates"}),
    ("cas_reader", "word", {"merge": "max", "character_width": 4}),
    ("cas_reader", "word", {"merge": "average", "context": True}),
    ("dcn", "dynamic_span", {"over_iterations": "mean", "iterations": 2, "directions": 2}),
    ("dcn_plus", "dynamic_span", {"objective": "policy", "decoder_hidden": 7}),
)


@dataclasses.dataclass(frozen=True)
class Question:
    """Token and tag ids of a passage and of its options (for a span: one, the question), and the answer."""

    passage: list[tuple[int, int]]
    options: list[list[tuple[int, int]]]
    label: int
    span: tuple[int, int] | None
    candidates: tuple[int, ...]
    word: int
    blank: int | None


def random_question(seed: int, task: str) -> Question:
    """A random question."""
    draw = random.Random(seed)

    def text(length: int) -> list[tuple[int, int]]:
        return [(draw.randrange(FIRST_WORD, VOCABULARY), draw.randrange(3, TAGS)) for _ in range(length)]

    passage = text(draw.randrange(3, 16))
    options = [text(draw.randrange(1, 7)) for _ in range(draw.randrange(2, 5) if task == "options" else 1)]
    first = draw.randrange(len(passage))
    span = None if seed % 4 == 3 else (first, draw.randrange(first, len(passage)))
    present = sorted({token for token, _ in passage})[:4]
    absent = next(token for token in range(FIRST_WORD, VOCABULARY) if token not in present)
    label, word = draw.randrange(len(options)), draw.randrange(len(present))
    blank = None if seed % 3 == 2 else draw.randrange(len(options[0]))
    return Question(passage, options, label, span, (*present, absent), word, blank)


def batch_of(questions: list[Question], task: str) -> Any:
    """Put questions into one batch, with a little more padding than there need be."""
    import torch

    rows = [(question, option) for question in questions for option in question.options]
    passage = 3 + max(len(question.passage) for question in questions)
    width = 2 + max(len(option) for _, option in rows)
    length, count = 1 + max(3 + len(question.passage) + len(option) for question, option in rows), len(rows)
    length = max(length, passage)
    candidates = max(len(question.candidates) for question in questions)
    fields = {
        "input_ids": torch.full((count, length), PADDING),
        "attention_mask": torch.zeros(count, length, dtype=torch.bool),
        "token_type_ids": torch.zeros(count, length, dtype=torch.long),
        "tag_ids": torch.zeros(count, length, dtype=torch.long),
        "passage_mask": torch.zeros(count, passage, dtype=torch.bool),
        "question_index": torch.zeros(count, width, dtype=torch.long),
        "question_mask": torch.zeros(count, width, dtype=torch.bool),
        "option_mask": torch.zeros(count, width, dtype=torch.bool),
        "option_index": torch.full((len(questions), max(len(question.options) for question in questions)), -1),
        "label": torch.tensor([question.word if task == "word" else question.label for question in questions]),
        "answer_mask": torch.zeros(count, passage, dtype=torch.bool),
        "start": torch.zeros(count, dtype=torch.long),
        "end": torch.zeros(count, dtype=torch.long),
        "word_groups": torch.full((count, passage), -1),
        "candidates": torch.full((len(questions), candidates), -2),
        "candidate_ids": torch.full((len(questions), candidates, 1), -1),
        "blank_mask": torch.zeros(count, width, dtype=torch.bool),
    }
    for row, (question, option) in enumerate(rows):
        tokens = [(CLS, 1), *question.passage, (SEP, 1), *option, (SEP, 1)]
        split, end = 2 + len(question.passage), len(tokens)
        fields["input_ids"][row, :end], fields["tag_ids"][row, :end] = torch.tensor(tokens).unbind(1)
        fields["attention_mask"][row, :end] = True
        fields["token_type_ids"][row, split:end] = 1
        fields["passage_mask"][row, :split] = True
        fields["question_index"][row, : end - split] = torch.arange(split, end)
        fields["question_mask"][row, : end - split] = True
        fields["answer_mask"][row, 1 : split - 1] = True
        if task == "options" and question.blank is None:
            fields["option_mask"][row, len(option) // 2 : len(option)] = True
        if question.blank is not None and question.blank < len(option):
            fields["blank_mask"][row, question.blank] = True
        if question.span is not None:
            fields["start"][row], fields["end"][row] = question.span[0] + 1, question.span[1] + 1
    row = 0
    for index, question in enumerate(questions):
        last = row + len(question.options)
        fields["option_index"][index, : len(question.options)] = torch.arange(row, last)
        words = list(dict.fromkeys(token for token, _ in question.passage))
        groups = torch.tensor([words.index(token) for token, _ in question.passage])
        fields["word_groups"][row:last, 1 : len(groups) + 1] = groups
        for number, token in enumerate(question.candidates):
            fields["candidates"][index, number] = words.index(token) if token in words else -1
            fields["candidate_ids"][index, number, 0] = token
        row = last
    first, last_token = fields["start"], fields["end"]

    def reward(start: Any, end: Any) -> Any:
        shared = (torch.minimum(end, last_token) - torch.maximum(start, first) + 1).clamp_min(0)
        return (2 * shared / ((end - start + 1).clamp_min(0) + last_token - first + 1)).float()

    return batch_class()(**fields, reward=reward)


def encoder_of(family: str) -> Any:
    """A configuration with two layers and 16 dimensions, or as many words."""
    import transformers

    config = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        num_attention_heads=4,
        intermediate_size=24,
        max_position_embeddings=64,
        num_hidden_layers=2,
    )
    if family == "bert":
        return config
    words = tuple(f"word{number}" for number in range(VOCABULARY - 3))
    return words_class()(words=words, encoder=config, width=12)


def fill(module: Any, key: Callable[[int, str], int]) -> None:
    """Set every parameter, and every stored table of numbers, from a key of its position and name; in float64."""
    import torch

    module.double()
    filled: set[int] = set()
    for index, (name, value) in enumerate(module.state_dict(keep_vars=True).items()):
        if not value.is_floating_point() or value.data_ptr() in filled:
            continue
        filled.add(value.data_ptr())
        generator = torch.Generator().manual_seed(key(index, name))
        with torch.no_grad():
            drawn = 0.3 * torch.randn(value.shape, generator=generator, dtype=torch.float64)
            # Vectors are biases, and scales of normalised states: around zero these would leave little of them.
            value.copy_(drawn + 0.5 if value.ndim == 1 else drawn)


def tensors_in(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every tensor within an output, by its path."""
    import torch

    if isinstance(value, torch.Tensor):
        yield name, value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from tensors_in(getattr(value, field.name), f"{name}.{field.name}".lstrip("."))
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from tensors_in(part, f"{name}.{key}".lstrip("."))
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from tensors_in(part, f"{name}.{number}".lstrip("."))


MOST = 2000
"""Numbers of an inner tensor that are recorded as they are; of the others their sums."""


def sampled(tensor: Any, *, whole: bool) -> Any:
    import numpy as np

    numbers = tensor.detach().numpy()
    if whole or numbers.size <= MOST or numbers.dtype == bool:
        return numbers
    numbers = numbers.astype(np.float64).ravel()
    finite = numbers[np.isfinite(numbers)]
    sums = [len(numbers), len(finite), finite.sum(), np.abs(finite).sum(), np.square(finite).sum()]
    # A sum that is weighted by position notices numbers that change places.
    return np.concatenate([sums, [np.dot(finite, np.cos(np.arange(len(finite))))], numbers[:MOST]])


def measured(module: Any, batches: list[Any], *, inside: bool) -> dict[str, Any]:
    """Outputs of a reader to batches, its attention maps and its gradients, and its loss in training."""
    import numpy as np
    import torch

    arrays: dict[str, Any] = {}
    module.eval().zero_grad()
    if inside and hasattr(module, "keep_maps"):
        module.keep_maps()
    for number, batch in enumerate(batches):
        output = module(batch)
        for name, tensor in tensors_in(output):
            outer = "." not in name
            if outer or (inside and number == 0):
                arrays[f"{name}|{number}"] = sampled(tensor, whole=outer)
        if inside and output.loss is not None and output.loss.requires_grad:
            output.loss.backward()
    if inside:
        gradients = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
        sums = sorted((float(gradient.abs().sum()), float(gradient.sum()), gradient.numel()) for gradient in gradients)
        arrays["gradients|all"] = np.array(sums)
        module.train()
        torch.manual_seed(0)
        arrays["loss in training|0"] = module(batches[0]).loss.detach().numpy()
    return arrays


def cases(names: list[str]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Reader, head, encoder and options."""
    combinations = [(name, head, {}) for name in names for head in HEADS]
    combinations += [
        (f"{kind}+{part}", head, {}) for kind in ("transformer", "recurrent") for part in INTERACTIONS for head in HEADS
    ]
    for name, head, options in [*combinations, *VARIANTS]:
        for family in ("bert", "words"):
            yield name, head, family, options


def record_readers(folder: Path) -> None:
    """Outputs, gradients and parameters of every reader with every head, of parts by their names, and of options."""
    import numpy as np
    import torch

    from coattend import readers
    from coattend.errors import CoattendError

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    batches = {
        task: [
            batch_of([random_question(seed, task) for seed in range(first, first + 5)], task)
            for first in range(0, 20, 5)
        ]
        for task in sorted(set(HEADS.values()))
    }
    arrays, facts = {}, {}
    for name, head, family, options in cases(readers.names()):
        case = "/".join([name, head, family, *(f"{key}={value}" for key, value in options.items())])
        torch.manual_seed(0)
        try:
            module = readers.build(name, encoder=encoder_of(family), head=head, **options)
        except CoattendError:
            facts[case] = "refused"
            continue
        except Exception as error:  # What is not refused as it should be is a fact, too.
            facts[case] = f"fails with {type(error).__name__}"
            continue
        state = module.state_dict()
        initial = hashlib.sha256()
        for key in sorted(state):
            initial.update(key.encode() + np.ascontiguousarray(state[key].numpy()).tobytes())
        facts[case] = {
            "initial weights": initial.hexdigest(),
            "parameters": [f"{key} {list(value.shape)} {value.dtype}" for key, value in sorted(state.items())],
            "trained": sorted(key for key, value in module.named_parameters() if value.requires_grad),
            "config": plain_json(getattr(module, "config", None)),
        }
        # Of parts that are joined by name one batch is enough.
        of_task = batches[HEADS[head]][: 1 if "+" in name else None]
        fill(module, lambda _, key: zlib.crc32(key.encode()))
        results = {f"{case}|by name|{key}": value for key, value in measured(module, of_task, inside=True).items()}
        fill(module, lambda index, _: index)
        results |= {
            f"{case}|by order|{key}": value for key, value in measured(module, of_task[:1], inside=False).items()
        }
        arrays |= results
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / "outputs.npz", **{key: arrays[key] for key in sorted(arrays)})
    write_json(folder / "cases.json", {"names": readers.names(), "cases": facts})
    built = sum(isinstance(fact, dict) for fact in facts.values())
    print(f"  {built} readers built, {len(facts) - built} refused, {len(arrays)} arrays", flush=True)


# Part 2: tables


def digest_of_rows(files: list[Path]) -> dict[str, Any]:
    """What a table of one or several files holds: its schema, and its rows in order and in any order."""
    import pyarrow.parquet as pq

    ordered, anyhow, count, schemas = hashlib.sha256(), 0, 0, set()
    for file in sorted(files):
        stored = pq.ParquetFile(file)
        schemas.add(
            "\n".join(f"{part.name}: {part.type}{'' if part.nullable else ' not null'}" for part in stored.schema_arrow)
        )
        for batch in stored.iter_batches(batch_size=500):
            for row in batch.to_pylist():
                content = hashlib.sha256(json.dumps(row, sort_keys=True, default=repr).encode()).digest()
                ordered.update(content)
                anyhow = (anyhow + int.from_bytes(content, "big")) % 2**256
                count += 1
    rows = {"rows": count, "content": f"{anyhow:064x}", "schema": sorted(schemas)}
    return rows if len(files) > 1 else rows | {"order": ordered.hexdigest()}


def digests_of_tables(data: Path) -> dict[str, Any]:
    """Every Parquet table below a folder; files called ``0001-of-0002`` are shards of one."""
    tables: dict[str, list[Path]] = {}
    for file in sorted(data.rglob("*.parquet")):
        sharded = re.fullmatch(r"\d+(-of-\d+)?", file.stem)
        tables.setdefault(str((file.parent if sharded else file).relative_to(data)), []).append(file)
    return {name: digest_of_rows(files) for name, files in tables.items()}


def files_below(folder: Path) -> list[str]:
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(re.sub(r"\b[0-9a-f]{16,}\b", "<id>", str(path)) for path in paths)


def raw_digests(folder: Path) -> dict[str, str]:
    """Text files as they are; of Parquet files the rows are compared elsewhere."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix in (".json", ".jsonl", ".txt", ".csv", ".question") and path.name[0] != "."
    }


def record_tables(folder: Path, source: Path, work: Path) -> None:
    """Digests of the tables of the sample, and of real benchmarks where ``COATTEND_RAW`` names them."""
    raw = os.environ.get("COATTEND_RAW")
    real = [name for name in ("dream", "cbt") if raw and Path(raw, name).is_dir()]
    for name in ["sample", *real]:
        project = new_project(source, work / name)
        chosen = ("--pipelines", "ingestion,tagging,tokenization", "--namespaces", name)
        must_run(project, "run", *chosen, COATTEND_RAW=raw if name in real else None)
        write_json(folder / f"{name}.json", digests_of_tables(project / "data"))
        write_json(folder / f"{name}_files.json", files_below(project / "data"))
        if name == "sample":
            raw_digest = raw_digests(project / "data" / "01_raw")
            raw_digest.pop("sample/written.json", None)
            write_json(folder / "sample_raw.json", raw_digest)
        shutil.rmtree(project)


# Part 3: training

VOLATILE = {"seconds", "questions_per_second", "peak_memory_mib", "device", "when", "started", "took"}
"""Fields that are others in every run."""
IDENTITIES = {"trial_id", "folder", "data", "source", "model_digest", "run_id"}
"""Fields that change with the files of the package: told, but no difference."""


def without(value: Any, names: set[str]) -> Any:
    if isinstance(value, Mapping):
        return {key: without(part, names) for key, part in value.items() if key not in names}
    return [without(part, names) for part in value] if isinstance(value, list) else value


def record_training(folder: Path, source: Path, work: Path, *, full: bool) -> None:
    """What the sample's default readers learn, answer and score, in float32 with one thread."""
    import numpy as np
    import pyarrow.parquet as pq
    from safetensors.numpy import load_file

    project = new_project(source, work / "training")
    chosen = ("--params", FLOAT_32) if full else ("--env", ENVIRONMENT)
    must_run(project, "run", *chosen)
    results = project / "data" if full else project / "data" / ENVIRONMENT
    identities = {}
    for name in DEFAULT_READERS:
        output = results / "07_model_output" / "sample" / name
        rows = pq.read_table(output / "predictions.parquet").drop_columns(["trial_id"]).to_pylist()
        rows.sort(key=lambda row: (row["question_id"], row["seed"]))
        write_json(folder / f"{name}_predictions.json", {f"{row['question_id']} {row['seed']}": row for row in rows})
        metrics = json.loads((output / "metrics.json").read_text())
        write_json(folder / f"{name}_metrics.json", without(metrics, VOLATILE | IDENTITIES))
        model = json.loads((results / "06_models" / "sample" / f"{name}.json").read_text())
        write_json(folder / f"{name}_trials.json", without(model, VOLATILE | IDENTITIES))
        weights = {}
        for trial in model["trials"]:
            identities[f"{name} {trial['seed']}"] = {key: trial[key] for key in IDENTITIES if key in trial}
            state = load_file(results / "06_models" / "trials" / trial["trial_id"] / "model" / "model.safetensors")
            for key, value in state.items():
                exact = value.astype(np.float64)
                weights[f"{trial['seed']} {key}"] = [list(value.shape), float(exact.sum()), float(np.abs(exact).sum())]
        write_json(folder / f"{name}_weights.json", weights)
    compared = json.loads((results / "08_reporting" / "sample" / "results.json").read_text())
    write_json(folder / "results.json", without(compared, VOLATILE | IDENTITIES))
    write_json(folder / "notes.json", identities)
    profile = pq.read_table(results / "08_reporting" / "sample" / "profile.parquet").to_pylist()
    write_json(folder / "profile.json", profile)
    write_json(folder / "files.json", sorted(set(files_below(project / "data"))))
    shutil.rmtree(project)


# Part 4: parameters, studies, catalog and pipelines


def record_parameters(folder: Path, environment: str | None) -> None:
    """What the project in the working folder says in one environment; studies in files of their own."""
    from kedro.framework.project import pipelines
    from kedro.framework.session import KedroSession
    from kedro.framework.startup import bootstrap_project

    bootstrap_project(Path.cwd())
    with KedroSession.create(project_path=Path.cwd(), env=environment) as session:
        context = session.load_context()
        parameters = plain_json(context.params)
        catalog = context.config_loader["catalog"]
    name = environment or "default"
    write_json(folder / f"{name}_studies.json", parameters.pop("studies"))
    write_json(folder / f"{name}_parameters.json", parameters)
    if environment is not None:
        return
    paths = {key: {part: entry.get(part) for part in ("filepath", "path", "table")} for key, entry in catalog.items()}
    write_json(folder / "catalog.json", without_none(paths))
    nodes = {
        name: {
            node.name: {
                "inputs": sorted(node.inputs),
                "outputs": sorted(node.outputs),
                "namespace": node.namespace,
                "tags": sorted(node.tags),
            }
            for node in pipelines[name].nodes
        }
        for name in sorted(pipelines)
    }
    write_json(folder / "nodes.json", nodes)


def without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: without_none(part) for key, part in value.items() if part is not None}
    return value


def record_studies(folder: Path, source: Path, work: Path) -> None:
    """Parameters, studies, catalog and nodes, in every environment that changes some."""
    project = new_project(source, work / "studies")
    shutil.rmtree(project / "conf" / ENVIRONMENT)
    others = {path.name for path in (project / "conf").iterdir() if path.is_dir()} - {"base", "local"}
    for environment in (None, *sorted(others)):
        chosen = ("--environment", environment) if environment else ()
        code = [sys.executable, __file__, "parameters", str(folder.resolve()), *chosen]
        process = subprocess.run(code, cwd=project, env=environment_of(), capture_output=True, text=True, check=False)
        if process.returncode:
            raise SystemExit(
                f"parameters of {environment or 'default'}: {process.stdout[-2000:]}{process.stderr[-3000:]}"
            )


# Part 5: messages


@dataclasses.dataclass(frozen=True)
class Mistake:
    """What a user does wrong: a command, the files that are changed before it, and environment variables.

    ``{plain}`` and ``{span}`` in a command stand for the ids of two trained trials.
    """

    name: str
    command: str
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    trained: bool = False
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)
    module: str = "kedro"


def swapped(old: str, new: str) -> Callable[[str], str]:
    """A change of a file's text."""

    def change(text: str) -> str:
        if old not in text:
            raise SystemExit(f"a file that a mistake is made in lacks {old!r}")
        return text.replace(old, new, 1)

    return change


def study(**changes: Any) -> str:
    """A file of studies with one study, and what is changed in it; None takes a field away."""
    entry = {
        "title": "A study",
        "source": "Nobody",
        "benchmarks": ["sample"],
        "seeds": [0],
        "base": {"reader": "plain"},
        "baseline": "plain",
        "variants": {"plain": {"title": "Plain"}, "duma": {"title": "DUMA", "change": {"reader": "duma"}}},
    } | changes
    paper = {"title": "A paper", "authors": ["A. Author"], "year": 2020, "venue": "Here", "key": "author2020"}
    entry = {key: value for key, value in entry.items() if value is not None}
    return json.dumps({"paper": paper, "studies": {"table": entry}}, indent=1)


PROSE = "Anna took the lamp. She went to the kitchen and left it there."
ROW = {"id": "1", "passage": PROSE, "question": "Where is the lamp?", "options": ["kitchen", "garden", "hall"]}
SAMPLE = "--pipelines ingestion --namespaces sample"
TRAIN = "--pipelines training --namespaces sample.plain"
ASK = "run --env unchanged --pipelines prediction --params prediction.model={plain},prediction.input=asked.jsonl"
CUSTOM = "run --pipelines ingestion --namespaces custom"
DEV = {"data/01_raw/custom/dev.jsonl": json.dumps(ROW | {"label": 0})}
BENCHMARK = "conf/base/parameters/benchmarks/dream.yml"
STUDY_FILE = "conf/base/studies/mine.yml"
STUDY = "run --pipelines study_mine_table"
TABLE = "data/unchanged/02_intermediate/sample/questions.parquet"
VARIANT = {"plain": {"title": "Plain"}}


def on(pipeline: str, parameters: str = "") -> str:
    """The command of a pipeline in the project that has trained readers."""
    return f"run --env {ENVIRONMENT} --pipelines {pipeline}" + (f" --params {parameters}" if parameters else "")


MISTAKES = (
    Mistake("pipeline misspelt", "run --pipelines trainin"),
    Mistake("pipeline unlike any", "run --pipelines xyzzy"),
    Mistake("study misspelt", "run --pipelines study_duma_table77"),
    Mistake("study of a namespace misspelt", "run --namespaces study.duma_table77"),
    Mistake("benchmark misspelt in a namespace", "run --pipelines training --namespaces sampel"),
    Mistake("benchmark misspelt in a namespace alone", "run --namespaces draem"),
    Mistake("reader misspelt in a namespace", "run --pipelines training --namespaces sample.pian"),
    Mistake("reader without a head for the task", "run --pipelines training --namespaces dream.plain_span"),
    Mistake("namespace that a pipeline lacks", "run --pipelines submission --namespaces sample.plain"),
    Mistake("environment misspelt", "run --env tset"),
    Mistake("option misspelt", "run --pipelin training"),
    Mistake("command misspelt", "runn"),
    Mistake("node misspelt", "run --nodes sample.plain.trian"),
    Mistake("dataset misspelt", "run --pipelines sample --from-inputs sample.pasages"),
    Mistake("parameter block misspelt", f"run {SAMPLE} --params benchmark.sample.shards=2"),
    Mistake("benchmark misspelt in a parameter", f"run {SAMPLE} --params benchmarks.sampel.shards=2"),
    Mistake("reader misspelt in a parameter", f"run {TRAIN} --params readers.plian.pooling=max"),
    Mistake("field misspelt in a parameter", f"run {SAMPLE} --params benchmarks.sample.training.epoch=2"),
    Mistake("field of a benchmark without it", f"run {SAMPLE} --params training.epochs=2"),
    Mistake("value too small", f"run {SAMPLE} --params benchmarks.sample.training.epochs=-1"),
    Mistake("value of another type", f"run {SAMPLE} --params benchmarks.sample.training.epochs=many"),
    Mistake("value instead of a list", f"run {SAMPLE} --params benchmarks.sample.training.seeds=zero"),
    Mistake("value instead of a block", f"run {SAMPLE} --params benchmarks.sample=5"),
    Mistake("value that is no choice", f"run {SAMPLE} --params benchmarks.sample.training.selection=test"),
    Mistake("parameter without a value", f"run {SAMPLE} --params benchmarks"),
    Mistake("size misspelt", f"run {SAMPLE} --params benchmarks.sample.generator.dialoges.train=4"),
    Mistake("size below nothing", f"run {SAMPLE} --params benchmarks.sample.generator.dialogues.train=-4"),
    Mistake(
        "tagger that is none", "run --pipelines tagging --namespaces sample --params taggings.nltk_penn.tagger=ntlk"
    ),
    Mistake("table missing for training", f"run {TRAIN}"),
    Mistake("table missing for evaluation", "run --pipelines evaluation --namespaces sample.plain"),
    Mistake("table missing for tagging", "run --pipelines tagging --namespaces dream"),
    Mistake("champion of nothing", "run --pipelines champion --namespaces sample"),
    Mistake("raw files missing", "run --pipelines ingestion --namespaces dream"),
    Mistake(
        "raw folder missing", "run --pipelines ingestion --namespaces dream", variables={"COATTEND_RAW": "nowhere"}
    ),
    Mistake(
        "raw file is no JSON",
        "run --pipelines ingestion --namespaces dream",
        {"data/01_raw/dream/train.json": "[[", "data/01_raw/dream/dev.json": "[]"},
    ),
    Mistake(
        "raw file of another form",
        "run --pipelines ingestion --namespaces squad_v1",
        {"data/01_raw/squad/train-v1.1.json": '{"data": 5}', "data/01_raw/squad/dev-v1.1.json": '{"data": []}'},
    ),
    Mistake("own questions without columns", CUSTOM, DEV | {"data/01_raw/custom/train.csv": "a,b\n1,2\n"}),
    Mistake("own questions that are no JSON", CUSTOM, DEV | {"data/01_raw/custom/train.jsonl": "{oops\n"}),
    Mistake("own questions empty", CUSTOM, DEV | {"data/01_raw/custom/train.jsonl": ""}),
    Mistake("benchmark file is no YAML", f"run {SAMPLE}", {BENCHMARK: swapped("tasks: [options]", "tasks: [options")}),
    Mistake("benchmark file with a misspelt field", f"run {SAMPLE}", {BENCHMARK: swapped("tasks:", "task:")}),
    Mistake("benchmark file with a task that is none", f"run {SAMPLE}", {BENCHMARK: swapped("[options]", "[option]")}),
    Mistake(
        "benchmark file with a format that is none",
        "run --pipelines ingestion --namespaces dream",
        {
            BENCHMARK: swapped("format: dream", "format: draem"),
            "data/01_raw/dream/train.json": "[]",
            "data/01_raw/dream/dev.json": "[]",
        },
    ),
    Mistake("benchmark file with another name", f"run {SAMPLE}", {BENCHMARK: swapped("  dream:", "  dreem:")}),
    Mistake("benchmark file of another kind", f"run {SAMPLE}", {BENCHMARK: swapped("benchmarks:", "benchmark:")}),
    Mistake(
        "benchmark file with a wrong training field",
        "run --pipelines training --namespaces dream.plain",
        {BENCHMARK: swapped("learning_rate:", "learning_rat:")},
    ),
    Mistake(
        "reader file of another name",
        f"run {TRAIN}",
        {"conf/base/parameters_training.yml": swapped("  plain:", "  plane:")},
    ),
    Mistake(
        "reader file is no YAML",
        f"run {TRAIN}",
        {"conf/base/parameters_training.yml": "readers:\n  plain: {pooling: [mean\n"},
    ),
    Mistake("studies are no YAML", STUDY, {STUDY_FILE: "paper: {title: [\n"}),
    Mistake("studies without a paper", STUDY, {STUDY_FILE: "studies: {}\n"}),
    Mistake("study without a title", STUDY, {STUDY_FILE: study(title=None)}),
    Mistake("study with a misspelt field", STUDY, {STUDY_FILE: study(protocoll="frozen")}),
    Mistake("study with a protocol that is none", STUDY, {STUDY_FILE: study(protocol="freezed")}),
    Mistake("study with a misspelt benchmark", STUDY, {STUDY_FILE: study(benchmarks=["sampel"])}),
    Mistake("study without its baseline", STUDY, {STUDY_FILE: study(baseline="plane")}),
    Mistake("study with a seed twice", STUDY, {STUDY_FILE: study(seeds=[0, 0])}),
    Mistake(
        "study with a misspelt field of a variant",
        STUDY,
        {STUDY_FILE: study(variants=VARIANT | {"duma": {"tilte": "DUMA"}})},
    ),
    Mistake(
        "study with a misspelt reader",
        STUDY,
        {STUDY_FILE: study(variants=VARIANT | {"duma": {"title": "DUMA", "change": {"reader": "dumma"}}})},
    ),
    Mistake(
        "study with a misspelt option",
        STUDY,
        {STUDY_FILE: study(variants=VARIANT | {"max": {"title": "Max", "change": {"poling": "max"}}})},
    ),
    Mistake(
        "study with a wrong value of an option",
        STUDY,
        {STUDY_FILE: study(variants=VARIANT | {"max": {"title": "Max", "change": {"pooling": "maximal"}}})},
    ),
    Mistake(
        "study with the same variant twice",
        STUDY,
        {STUDY_FILE: study(variants=VARIANT | {"twin": {"title": "Twin"}})},
    ),
    Mistake(
        "study that starts from no variant",
        STUDY,
        {
            STUDY_FILE: study(
                variants=VARIANT | {"fine": {"title": "Fine", "change": {"training": {"start_from": "x"}}}}
            )
        },
    ),
    Mistake(
        "study that starts from itself",
        STUDY,
        {
            STUDY_FILE: study(
                variants=VARIANT | {"fine": {"title": "F", "change": {"training": {"start_from": "fine"}}}}
            )
        },
    ),
    Mistake(
        "study that trains on a misspelt benchmark",
        STUDY,
        {
            STUDY_FILE: study(
                variants=VARIANT | {"m": {"title": "M", "change": {"training": {"train_on": {"rac": []}}}}}
            )
        },
    ),
    Mistake(
        "study with an encoder that is none", STUDY, {STUDY_FILE: study(base={"reader": "plain", "encoder": "bret"})}
    ),
    Mistake("catalog is no YAML", f"run {SAMPLE}", {"conf/base/catalog_models.yml": "trials: {type: [\n"}),
    Mistake(
        "catalog with a type that is none",
        f"run {SAMPLE}",
        {"conf/base/catalog_passages.yml": '"{benchmark}.passages": {type: nothing.NoDataset, filepath: x}\n'},
    ),
    Mistake("environment is no YAML", on("ingestion"), {"conf/unchanged/parameters.yml": "benchmarks: {sample: [\n"}),
    Mistake("globals are no YAML", on("ingestion"), {"conf/unchanged/globals.yml": "tables: [\n"}),
    Mistake(
        "environment with no such reader", on("ingestion"), {"conf/unchanged/parameters.yml": "readers: {dumma: {}}\n"}
    ),
    Mistake(
        "environment with no such study", on("ingestion"), {"conf/unchanged/parameters.yml": "studies: {dumma: {}}\n"}
    ),
    Mistake(
        "environment with no such benchmark",
        on("ingestion"),
        {"conf/unchanged/parameters.yml": "benchmarks: {draem: {}}\n"},
    ),
    Mistake(
        "environment with no such encoder",
        on("training"),
        {"conf/unchanged/parameters.yml": "readers: {duma: {encoder: albert_bas}}\n"},
    ),
    # With tables and trained readers
    Mistake("engine that is none", on("tagging", "engine.kind=spark") + " --namespaces sample", trained=True),
    Mistake(
        "head that is none", on("training", "readers.plain.head=spam") + " --namespaces sample.plain", trained=True
    ),
    Mistake(
        "head that the reader lacks",
        on("training", "readers.aoa_reader.head=options") + " --namespaces sample.aoa_reader",
        trained=True,
    ),
    Mistake("option misspelt", on("training", "readers.plain.poling=max") + " --namespaces sample.plain", trained=True),
    Mistake(
        "option with a wrong value",
        on("training", "readers.plain.pooling=maxx") + " --namespaces sample.plain",
        trained=True,
    ),
    Mistake(
        "encoder by --params", on("training", "readers.plain.encoder=bret") + " --namespaces sample.plain", trained=True
    ),
    Mistake(
        "encoder in a missing folder",
        on("training", "encoders.minilm.source=./nowhere") + " --namespaces sample.plain",
        trained=True,
    ),
    Mistake(
        "start from what is none",
        on("training", "benchmarks.sample.training.start_from=nonsense") + " --namespaces sample.plain",
        trained=True,
    ),
    Mistake(
        "train on another benchmark",
        on("training", "readers.plain.training.train_on.draem=all") + " --namespaces sample.plain",
        trained=True,
    ),
    Mistake("table cut off", on("training") + " --namespaces sample.plain", {TABLE: b"PAR1"}, trained=True),
    Mistake("nothing predicted", on("prediction"), trained=True),
    Mistake("prediction without a file", on("prediction", "prediction.model={plain}"), trained=True),
    Mistake("prediction from a missing file", ASK, trained=True),
    Mistake(
        "prediction by no trial",
        on("prediction", "prediction.model=zzz,prediction.input=asked.jsonl"),
        {"asked.jsonl": json.dumps(ROW)},
        trained=True,
    ),
    Mistake(
        "prediction by no model",
        on("prediction", "prediction.model=models:/raeder@best,prediction.input=asked.jsonl"),
        {"asked.jsonl": json.dumps(ROW)},
        trained=True,
    ),
    Mistake("prediction from broken JSON", ASK, {"asked.jsonl": json.dumps(ROW) + "\n{oops\n"}, trained=True),
    Mistake("prediction from an empty file", ASK, {"asked.jsonl": ""}, trained=True),
    Mistake("prediction from other bytes", ASK, {"asked.jsonl": b"\xff\xfe\x00"}, trained=True),
    Mistake(
        "prediction from a broken table", ASK.replace("jsonl", "parquet"), {"asked.parquet": b"PAR1"}, trained=True
    ),
    Mistake("prediction from another format", ASK.replace("jsonl", "xml"), {"asked.xml": "<a/>"}, trained=True),
    Mistake("prediction from other columns", ASK.replace("jsonl", "csv"), {"asked.csv": "a,b\n1,2\n"}, trained=True),
    Mistake(
        "prediction with a misspelt field", ASK + ",prediction.nmae=x", {"asked.jsonl": json.dumps(ROW)}, trained=True
    ),
    Mistake("nothing compared", on("compare"), trained=True),
    Mistake("compare with nothing", on("compare", "compare.left={plain}"), trained=True),
    Mistake("compare with no trial", on("compare", "compare.left={plain},compare.right=zzz"), trained=True),
    Mistake("compare with itself", on("compare", "compare.left={plain},compare.right={plain}"), trained=True),
    Mistake("compare other tasks", on("compare", "compare.left={plain},compare.right={span}"), trained=True),
    Mistake("compare with a number", on("compare", "compare.left=7500.0,compare.right={plain}"), trained=True),
    Mistake("nothing attended", on("attention"), trained=True),
    Mistake("attention of no trial", on("attention", "attention.left=zzz"), trained=True),
    Mistake("attention of no question", on("attention", "attention.left={plain},attention.ids=nothing"), trained=True),
    Mistake("attention of no split", on("attention", "attention.left={plain},attention.split=tset"), trained=True),
    Mistake("attention of other tasks", on("attention", "attention.left={plain},attention.right={span}"), trained=True),
    Mistake("nothing verified", on("verify"), trained=True),
    Mistake("no run verified", on("verify", "run=" + "0" * 32), trained=True),
    Mistake("nothing shared", on("share"), trained=True),
    Mistake("no reader shared", on("share", "share.model=zzz"), trained=True),
    Mistake("shared under a wrong name", on("share", "share.model={plain},share.to=a/b/c"), trained=True),
    Mistake("no reader shown", "--model zzz", trained=True, module="coattend.serving"),
)

PROBLEMS: tuple[dict[str, Any], ...] = (
    ROW,
    {"passage": PROSE, "question": "Where?", "options": ["one"]},
    {"passage": "", "question": "Where?", "options": ["one", "two"]},
    {"pasage": PROSE, "question": "Where?", "options": ["one", "two"]},
    {"passage": PROSE, "question": 5, "options": ["one", "two"]},
    {"passage": PROSE, "question": "Where?"},
    {"passage": PROSE * 3000, "question": "Where?", "options": ["one", "two"]},
    ROW | {"id": "8", "label": 7},
)
"""Rows of a file of questions, most of which cannot be answered."""


def normalised(text: str, folders: list[Path], trials: Mapping[str, str]) -> str:
    """A message without what is another in every run: folders, ids and times, and the order of ids."""
    for trial, name in trials.items():
        for length in (len(trial), 10, 8):
            text = re.sub(rf"\b{trial[:length]}\b", f"<{name}>", text)
    for folder in folders:
        for path in {str(folder), str(folder.resolve())}:
            text = text.replace(path, "<project>")
    text = text.replace(str(package_root()), "<src>")
    text = re.sub(r"\b[0-9a-f]{32}\b|\b[0-9a-f]{16}\b", "<id>", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?", "<time>", text)
    text = re.sub(r"0x[0-9a-f]{6,}", "<address>", text)

    def in_order(match: re.Match[str]) -> str:
        return match[1] + "; ".join(sorted(match[2].split("; ")))

    return re.sub(r"((?:[Tt]rials|Logged models): )([^\n]*)", in_order, text)


def message_of(errors: str) -> str:
    """What a command says at its end; of a traceback the last lines."""
    lines = [line.rstrip() for line in errors.splitlines() if line.strip()]
    # Log lines begin with a time.
    lines = [line for line in lines if not re.match(r"\d{4}-\d\d-\d\d ", line)]
    starts = [number for number, line in enumerate(lines) if re.match(r"(Error|Usage)\b", line)]
    if starts:
        return "\n".join(lines[starts[0] :])
    if not any("Traceback" in line for line in lines):
        return "\n".join(lines[-2:])
    # Where an exception is raised may change; its own lines begin at the left margin.
    raised = [number for number, line in enumerate(lines) if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return "Traceback: " + re.sub(r"^[\w.]*\.(\w+)", r"\1", "\n".join(lines[raised[-1] if raised else -1 :]))


def change_files(project: Path, changes: Mapping[str, Any]) -> None:
    for name, change in changes.items():
        file = project / name
        content = change(file.read_text()) if callable(change) else change
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)  # It may be a second name of another project's file.
        file.write_bytes(content if isinstance(content, bytes) else content.encode())


def trained_project(source: Path, work: Path) -> tuple[Path, dict[str, str]]:
    """A project with two trained readers, and their names by their trials' ids."""
    project = new_project(source, work / "trained")
    must_run(project, *on("ingestion,tagging,tokenization").split(), "--namespaces", "sample")
    must_run(project, *on("training,evaluation").split(), "--namespaces", "sample.plain,sample.plain_span")
    trials = {}
    for file in sorted((project / "data" / ENVIRONMENT / "06_models" / "sample").glob("*.json")):
        for trial in json.loads(file.read_text())["trials"]:
            trials[trial["trial_id"]] = {"plain": "plain", "plain_span": "span"}[file.stem]
    return project, trials


HEAVY = (
    "torch",
    "transformers",
    "pandas",
    "pyarrow.dataset",
    "mlflow",
    "scipy.stats",
    "statsmodels.api",
    "kedro.framework.cli",
)
"""Packages that take seconds to import, which is done once for all mistakes."""


def fork_command(project: Path, arguments: list[str], module: str, variables: Mapping[str, str], output: Path) -> int:
    """Begin a command in a process of its own that has imported what is heavy; its number."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        os.chdir(project)
        os.environ.update(variables)
        for stream, suffix in ((1, ".out"), (2, ".err")):
            os.dup2(os.open(output.with_suffix(suffix), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        sys.argv = [module, *arguments]
        try:
            if module == "kedro":
                from kedro.framework.cli.cli import main as kedro

                kedro()
            else:
                runpy.run_module(module, run_name="__main__")
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def record_messages(folder: Path, source: Path, work: Path) -> None:
    """What is said of typical mistakes, and of rows that cannot be answered."""
    trained, trials = trained_project(source, work)
    ids = {name: trial for trial, name in trials.items()}
    for name in HEAVY:
        importlib.import_module(name)
    messages: dict[str, dict[str, Any]] = {}
    running: dict[int, tuple[Mistake, Path]] = {}

    def end_one() -> None:
        process, status = os.wait()
        mistake, project = running.pop(process)
        code = os.waitstatus_to_exitcode(status)
        text = message_of(project.with_suffix(".err").read_text(errors="replace"))
        name = f"{'trained: ' if mistake.trained else ''}{mistake.name}"
        message = normalised(text, [project], trials).splitlines()
        messages[name] = {"command": mistake.command, "exit": code, "message": message}
        shutil.rmtree(project)

    for number, mistake in enumerate(MISTAKES):
        project = new_project(source, work / f"mistake_{number}")
        if mistake.trained:
            shutil.copytree(trained / "data", project / "data", copy_function=os.link)
            for file in trained.glob("mlflow.db*"):
                shutil.copy(file, project / file.name)
        change_files(project, mistake.changes)
        if len(running) == 2:
            end_one()
        command = mistake.command.format(**ids).split()
        running[fork_command(project, command, mistake.module, mistake.variables, project)] = mistake, project
    while running:
        end_one()
    write_json(folder / "messages.json", messages)
    change_files(trained, {"asked.jsonl": "".join(json.dumps(row) + "\n" for row in PROBLEMS)})
    must_run(trained, *ASK.format(**ids).split())
    answers = trained / "data" / ENVIRONMENT / "07_model_output" / "predictions" / "asked" / "answers.jsonl"
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    write_json(folder / "answers.json", [without(row, IDENTITIES) for row in rows])
    failed = [name for name, entry in messages.items() if any("Traceback" in line for line in entry["message"])]
    passed = [name for name, entry in messages.items() if entry["exit"] == 0]
    print(f"  {len(messages)} mistakes; end in a traceback: {failed or 'none'}; pass: {passed or 'none'}", flush=True)


# Comparing


def flattened(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, part in value.items():
            yield from flattened(part, f"{path} > {key}" if path else str(key))
    elif isinstance(value, list) and value:
        for number, part in enumerate(value):
            yield from flattened(part, f"{path} [{number}]")
    else:
        yield path, value


def differences_of_json(first: Any, second: Any) -> Iterator[str]:
    first_values, second_values = dict(flattened(first)), dict(flattened(second))
    for path in sorted(first_values.keys() | second_values.keys()):
        if path not in second_values:
            yield f"{path}: is missing in the second (was {first_values[path]!r:.200})"
        elif path not in first_values:
            yield f"{path}: is new in the second ({second_values[path]!r:.200})"
        elif first_values[path] != second_values[path] or type(first_values[path]) is not type(second_values[path]):
            before, after = first_values[path], second_values[path]
            numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (before, after))
            apart = f", {abs(before - after):.3g} apart" if numbers else ""
            yield f"{path}: {before!r:.400} became {after!r:.400}{apart}"


def differences_of_lists(first: list[Any], second: list[Any]) -> Iterator[str]:
    """Of lists of names: which are missing and which are new."""
    for name in sorted(set(first) - set(second)):
        yield f"{name}: is missing in the second"
    for name in sorted(set(second) - set(first)):
        yield f"{name}: is new in the second"


def apart(before: Any, after: Any) -> str | None:
    """How two arrays differ; None: they do not."""
    import numpy as np

    if before.shape != after.shape or before.dtype != after.dtype:
        return f"{before.dtype}{list(before.shape)} became {after.dtype}{list(after.shape)}"
    if np.array_equal(before, after, equal_nan=before.dtype.kind == "f"):
        return None
    with np.errstate(invalid="ignore"):
        gaps = np.abs(before.astype(np.float64) - after.astype(np.float64))
    gaps = gaps[~np.isnan(gaps)]
    return f"up to {gaps.max() if gaps.size else np.nan:.3g} apart"


def differences_of_arrays(first: Path, second: Path) -> Iterator[str]:
    """Of readers' outputs; what is inside an output may have another name."""
    import numpy as np

    with np.load(first) as first_arrays, np.load(second) as second_arrays:
        before, after = ({key: stored[key] for key in stored.files} for stored in (first_arrays, second_arrays))
    new: dict[str, list[str]] = {}
    for key in sorted(after.keys() - before.keys()):
        new.setdefault(key.rpartition("|by ")[0], []).append(key)
    gaps = {key: apart(before[key], after[key]) for key in sorted(before.keys() & after.keys())}
    changed = {key.rpartition("|by ")[0] for key, gap in gaps.items() if gap and "|by name|" in key}
    for key in sorted(before):
        if key in after:
            if gaps[key]:
                # Parameters that are set by their names give the same: they only come in another order.
                note = "note: " if "|by order|" in key and key.rpartition("|by ")[0] not in changed else ""
                yield f"{note}{key}: {gaps[key]}"
            continue
        case, inside = key.rpartition("|by ")[0], "." in key.rpartition("|by ")[2]
        alike = [name for name in new.get(case, ()) if inside and apart(before[key], after[name]) is None]
        if alike:
            new[case].remove(alike[0])
            yield f"note: {key}: is called {alike[0].rpartition('|by ')[2]} in the second"
        else:
            yield f"{key}: is missing in the second"
    for key in (key for keys in new.values() for key in keys):
        yield f"{key}: is new in the second"


def compared(first: Path, second: Path, parts: list[int] | None, skipped: list[str]) -> Iterator[str]:
    """Every difference between two recordings, named."""
    chosen = [PARTS[part] for part in parts or PARTS]
    if parts is None and not any((folder / name).is_dir() for folder in (first, second) for name in chosen):
        yield "nothing is recorded"
    for part in chosen:
        sides = [folder / part for folder in (first, second)]
        files = sorted({file.relative_to(side) for side in sides if side.is_dir() for file in side.rglob("*.*")})
        if parts is not None and not files:
            yield f"{part}: is recorded on neither side"
        for file in files:
            if file.name in skipped:
                continue
            before, after = (side / file for side in sides)
            if not before.is_file() or not after.is_file():
                yield f"{part}/{file}: is recorded in the {'second' if after.is_file() else 'first'} only"
            elif file.suffix == ".npz":
                yield from (
                    f"{part}/{file}: {line}".replace(f"{part}/{file}: note: ", f"note: {part}: ")
                    for line in differences_of_arrays(before, after)
                )
            else:
                first_content, second_content = (json.loads(path.read_text()) for path in (before, after))
                names = isinstance(first_content, list) and all(
                    isinstance(value, str) for value in [*first_content, *second_content]
                )
                lines = (
                    differences_of_lists(first_content, second_content)
                    if names
                    else differences_of_json(first_content, second_content)
                )
                note = "note: " if file.name == "notes.json" else ""
                yield from (f"{note}{part}/{file}: {line}" for line in lines)


def record(folder: Path, source: Path, parts: list[int], *, full: bool) -> None:
    own_source = source / "src"
    if (own_source / "coattend").is_dir() and own_source.resolve() != package_root():
        raise SystemExit(
            f"{source} has a package of its own, and that of {package_root()} is imported: PYTHONPATH={own_source}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="unchanged_"))
    print(f"{package_root()}, configuration of {source}", flush=True)
    try:
        for part in parts:
            began, where = time.time(), folder / PARTS[part]
            if where.exists():
                shutil.rmtree(where)
            if part == 1:
                record_readers(where)
            elif part == 2:
                record_tables(where, source, work / "2")
            elif part == 3:
                record_training(where, source, work / "3", full=full)
            elif part == 4:
                record_studies(where, source, work / "4")
            else:
                # In a process of its own, that imports nothing of the package before it forks.
                code = [sys.executable, __file__, "messages", str(where), str(source), str(work / "5")]
                subprocess.run(code, env=environment_of(), check=True)
            print(f"part {part}, {PARTS[part]}: {time.time() - began:.0f} s", flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main() -> None:
    """Record, or compare."""
    parser = argparse.ArgumentParser(description="Record what must not change, and compare two recordings.")
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="Record what must not change in a folder")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--full", action="store_true", help="Train in the default environment: ten minutes and more")
    recording.add_argument("--project", type=Path, default=ROOT, help="Whose conf and pyproject.toml are copied")
    comparing = commands.add_parser("compare", help="Name every difference between two recordings")
    comparing.add_argument("first", type=Path)
    comparing.add_argument("second", type=Path)
    comparing.add_argument("--without", default="", help="Files that are left out, such as nodes.json")
    for subcommand in (recording, comparing):
        subcommand.add_argument("--parts", help="1 readers, 2 tables, 3 training, 4 studies, 5 messages; such as 1,3")
    parameters = commands.add_parser("parameters", help="Used by `record` for itself")
    parameters.add_argument("folder", type=Path)
    parameters.add_argument("--environment")
    messages = commands.add_parser("messages", help="Used by `record` for itself")
    for name in ("folder", "source", "work"):
        messages.add_argument(name, type=Path)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    if options.command == "parameters":
        record_parameters(options.folder, options.environment)
        return
    if options.command == "messages":
        record_messages(options.folder, options.source, options.work)
        return
    parts = [int(part) for part in options.parts.split(",")] if options.parts else None
    if options.command == "record":
        record(options.folder.resolve(), options.project.resolve(), parts or list(PARTS), full=options.full)
        return
    lines = list(compared(options.first, options.second, parts, options.without.split(",")))
    for line in lines:
        print(line)
    count = sum(not line.startswith("note: ") for line in lines)
    print(f"{count} differences")
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
