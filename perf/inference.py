"""Questions answered per second, beside pipelines of ``transformers`` over the same encoder.

There is a pipeline that scores pairs of texts, as options need; one that gives each token scores, as spans need; and
one that gives each token's vectors, as words need. They read the same texts, tokenise them one by one and compute in
fp32, as they come. The product tokenises each distinct text once, which is timed with it, and then reads whole
questions of like length, as evaluation does: in bf16 where the processor has it, and in fp32 beside that. POS tags, of
which pipelines know nothing, are there already. A pipeline has batches of 8, or of 1 if that is faster.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from coattend.batches.dataset import QuestionSet
from coattend.config import TokenizerParameters
from coattend.inference.attention_maps import question_texts
from coattend.inference.predict import answer_questions
from coattend.readers.encoders.pretrained import EMBEDDED, encoder_folder
from coattend.text.tokenizer import load_tokenizer
from coattend.trials.build import build_reader
from coattend.trials.experiment import Experiment
from perf.prepared import Prepared
from perf.timing import alternate, ratio

QUESTIONS = 48

TASKS: dict[str, tuple[str, str, str]] = {
    "options": ("dream", "plain", "text-classification"),
    "span": ("squad_v1", "plain", "token-classification"),
    "word": ("sample", "poi_net_word", "feature-extraction"),
}
"""For each task a benchmark, a reader over the embedded encoder, and the pipeline beside it."""


def measure(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """Measure each task."""
    torch.manual_seed(0)
    figures = {}
    for task, (benchmark, reader, pipeline) in TASKS.items():
        experiments = {
            precision: prepared.experiment(
                prepared.either(benchmark), reader, training={"max_questions": QUESTIONS, "precision": precision}
            )
            for precision in ("auto", "fp32")
        }
        figures[task] = compare(experiments, pipeline, rounds)
    return figures


def compare(experiments: dict[str, Experiment], pipeline: str, rounds: int) -> dict[str, Any]:
    """Time a reader in each precision and a pipeline."""
    experiment = experiments["auto"]
    questions = experiment.training_questions().train
    count = len(questions.examples)
    reader = build_reader(experiment, questions)
    pairs = pairs_of(questions, experiment)
    distinct = sorted({text for pair in pairs for text in pair})
    tokenizer = load_tokenizer(TokenizerParameters())

    def product_rate(experiment: Experiment) -> float:
        start = time.perf_counter()
        tokenizer.encode(distinct, [False] * len(distinct))
        answer_questions(experiment, reader, questions)
        return count / (time.perf_counter() - start)

    peers = {f"{pipeline}, {size}": pipeline_rate(pipeline, pairs, count, size) for size in (1, 8)}
    steps = {
        "ours": partial(product_rate, experiment),
        "ours, fp32": partial(product_rate, experiments["fp32"]),
    } | peers
    rates = alternate(steps, rounds, warm_up=1)
    best = max(peers, key=lambda peer: sum(rates[peer]))
    return {
        "benchmark": experiment.benchmark,
        "questions_per_second": {name: round(statistics.median(values), 2) for name, values in rates.items()},
        "peer": best,
        "faster": ratio(rates["ours"], rates[best]),
        "faster_in_fp32": ratio(rates["ours, fp32"], rates[best]),
    }


def pairs_of(questions: QuestionSet, experiment: Experiment) -> list[tuple[str, str]]:
    """Pair each passage with each text of the question's domain."""
    return [
        (questions.texts[example.question_id], " ".join(texts))
        for example in questions.examples
        for texts in question_texts(experiment, questions.rows[example.question_id])
    ]


def pipeline_rate(name: str, pairs: list[tuple[str, str]], questions: int, batch_size: int) -> Callable[[], float]:
    """Return a step that runs a pipeline over the embedded encoder and returns its questions per second."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    folder = str(encoder_folder(EMBEDDED))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, model_max_length=512)
    # A head has two labels by default.
    build: Any = transformers.pipeline  # Its overloads take a task's name as a literal.
    pipeline = build(name, model=folder, tokenizer=tokenizer, device=-1, batch_size=batch_size)
    if name == "text-classification":
        inputs: list[Any] = [{"text": passage, "text_pair": question} for passage, question in pairs]
        options: dict[str, Any] = {"truncation": "only_first", "max_length": 512}
    else:  # These take one text.
        inputs = [f"{passage} {question}" for passage, question in pairs]
        options = {} if name == "token-classification" else {"truncation": True, "return_tensors": True}

    def rate() -> float:
        start = time.perf_counter()
        pipeline(inputs, **options)
        return questions / (time.perf_counter() - start)

    return rate
