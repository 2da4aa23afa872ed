"""A language model that chooses options, beside lm-evaluation-harness: the same model, questions and tokens a batch."""

import importlib.util
import statistics
import tempfile
import time
from collections.abc import Iterable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import torch

from coattend.config import BenchmarkParameters, ExportParameters, ReaderParameters, TaggingParameters
from coattend.data.harness_task import harness_task
from coattend.inference.likelihood import LikelihoodTables, OptionLikelihood
from perf.prepared import Prepared
from perf.timing import alternate, ratio

QUESTIONS = 40
BATCH = 2048
"""Tokens of a batch."""

LAYERS, WIDTH = 6, 384


def measure(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """Score the first questions with options of a benchmark's dev, in float32; nothing where the harness is missing."""
    if importlib.util.find_spec("lm_eval") is None:
        return {}
    benchmark = prepared.either("race")
    tables = _first_questions(prepared, benchmark)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "model")
        passages = tables.passages.to_table(columns=["text"])["text"].to_pylist()
        longest = write_model(model, passages)
        ours = partial(_rate_of_ours, tables, model, Path(folder, "trials"), count())
        rates = alternate({"ours": ours, "harness": _harness(tables, model, Path(folder), longest)}, rounds, warm_up=1)
    return {
        "benchmark": benchmark,
        "questions": len(tables.questions.to_table()),
        "questions_per_second": {name: round(statistics.median(values), 2) for name, values in rates.items()},
        "faster": ratio(rates["ours"], rates["harness"]),
    }


def write_model(folder: Path, texts: Iterable[str]) -> int:
    """Write a Llama with random weights and a byte-level BPE that is learned from texts; return the tokens of the
    longest one."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    texts = list(texts)
    learned = ByteLevelBPETokenizer()
    special = {"bos_token": "<s>", "eos_token": "</s>"}
    learned.train_from_iterator(texts, vocab_size=8000, special_tokens=[*special.values()], show_progress=False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=learned._tokenizer, **special)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=4 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=WIDTH // 32,
        max_position_embeddings=4096,
    )

    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return max(len(encoding.ids) for encoding in learned.encode_batch(texts))


def _first_questions(prepared: Prepared, benchmark: str) -> LikelihoodTables:
    """Take the first questions with options of dev, and their passages."""
    parameters = BenchmarkParameters.model_validate(prepared.parameters["benchmarks"][benchmark])
    questions = prepared.load(f"{benchmark}.questions").to_table()
    wanted = pc.and_(pc.equal(questions["split"], "dev"), pc.equal(questions["task"], "options"))
    asked = questions.filter(wanted).slice(0, QUESTIONS)
    passages = prepared.load(f"{benchmark}.passages").to_table()
    about = passages.filter(pc.is_in(passages["passage_id"], pa.array(asked["passage_id"].to_pylist())))
    entry = parameters.model_copy(update={"tasks": ("options",)})
    return LikelihoodTables(pads.dataset(asked), pads.dataset(about), entry)


def _rate_of_ours(tables: LikelihoodTables, model: Path, trials: Path, turn: "count[int]") -> float:
    training = {"max_length": 4096, "precision": "fp32", "tokens_per_batch": BATCH}
    reader = ReaderParameters(
        name="lm", reader="option_likelihood", training=training, options={"model": str(model), "normalise": "none"}
    )
    start = time.perf_counter()
    # A trial that is there would not be answered again.
    OptionLikelihood(tables, reader, TaggingParameters(), trials / str(next(turn))).answer_all()
    return QUESTIONS / (time.perf_counter() - start)


def _harness(tables: LikelihoodTables, model: Path, folder: Path, longest: int) -> "partial[float]":
    """Export the questions as a task of the harness; return what runs it, with as many tokens a batch."""
    names = write_task(tables, folder / "harness")
    return partial(_rate_of_harness, names, model, folder / "harness", max(1, BATCH // longest))


def write_task(tables: LikelihoodTables, folder: Path) -> list[str]:
    """Write questions as tasks of the harness, as the pipeline of exports does; return their names."""
    task = harness_task(*tables, ExportParameters())
    for name in ("tasks", "tables"):
        (folder / name).mkdir(parents=True)
    for name, text in task.files.items():
        (folder / "tasks" / name).write_text(text)
    for name, table in task.tables.items():
        pq.write_table(table, folder / f"tables/{name}.parquet")
    return task.names


def _rate_of_harness(names: list[str], model: Path, tasks: Path, batch_size: int) -> float:
    import lm_eval
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    start = time.perf_counter()
    lm_eval.simple_evaluate(
        model=HFLM(pretrained=str(model), device="cpu", dtype="float32", batch_size=batch_size),
        tasks=names,
        task_manager=TaskManager(include_path=str(tasks), include_defaults=False),
        bootstrap_iters=0,
    )
    return QUESTIONS / (time.perf_counter() - start)
