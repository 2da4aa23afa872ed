"""Questions a second that are answered, beside pipelines of ``transformers`` over the same encoder.

There is a pipeline that scores pairs of texts, which options are to a reader; one that gives each token scores, which
spans need; and one that gives each token's vectors, which words need. They have the same texts, tokenise them one by
one and compute in fp32, as they come; ours tokenises each distinct text once, which is timed with it, and then reads
whole questions of like length, as evaluation does: in bf16 where the processor has it, and beside that in fp32. POS
tags, which pipelines know nothing of, are there already. A pipeline has batches of 8, or of 1 if that is faster.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from coattend.parameters import TokenizerParameters
from coattend.text.subwords import load_tokenizer
from coattend.text.tokenizer_files import find
from coattend.training.data import QuestionSet
from coattend.training.looking import texts_of
from coattend.training.plan import Plan
from perf.alternate import alternate, ratio
from perf.prepared import Prepared

QUESTIONS = 48


KINDS: dict[str, tuple[str, str, str]] = {
    "options": ("dream", "plain", "text-classification"),
    "span": ("squad_v1", "plain", "token-classification"),
    "word": ("sample", "poi_net_word", "feature-extraction"),
}
"""For each task a benchmark, a reader over the embedded encoder, and the pipeline beside it."""


def measure(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """Each kind of task."""
    torch.manual_seed(0)
    found = {}
    for task, (benchmark, reader, pipeline) in KINDS.items():
        plans = {
            precision: prepared.plan(
                prepared.either(benchmark), reader, training={"max_questions": QUESTIONS, "precision": precision}
            )
            for precision in ("auto", "fp32")
        }
        found[task] = beside(plans, pipeline, rounds)
    return found


def beside(plans: dict[str, Plan], name: str, rounds: int) -> dict[str, Any]:
    """Questions a second of a reader, in each precision, and of a pipeline."""
    plan = plans["auto"]
    asked, _ = plan.training_questions()
    reader = plan.build(asked)
    pairs = pairs_of(asked, plan)
    distinct = sorted({text for pair in pairs for text in pair})
    tokenizer = load_tokenizer(TokenizerParameters())

    def ours(plan: Plan) -> float:
        began = time.perf_counter()
        tokenizer.encode(distinct, [False] * len(distinct))
        plan.ask(reader, asked)
        return len(asked.examples) / (time.perf_counter() - began)

    peers = {f"{name}, {size}": pipeline_of(name, pairs, len(asked.examples), size) for size in (1, 8)}
    steps = {"ours": partial(ours, plan), "ours, fp32": partial(ours, plans["fp32"])} | peers
    rates = alternate(steps, rounds, warm_up=1)
    best = max(peers, key=lambda key: sum(rates[key]))
    return {
        "benchmark": plan.benchmark,
        "questions_per_second": {key: round(sorted(values)[rounds // 2], 2) for key, values in rates.items()},
        "peer": best,
        "faster": ratio(rates["ours"], rates[best]),
        "faster_in_fp32": ratio(rates["ours, fp32"], rates[best]),
    }


def pairs_of(asked: QuestionSet, plan: Plan) -> list[tuple[str, str]]:
    """A passage beside each question domain."""
    return [
        (asked.texts[example.question_id], " ".join(texts))
        for example in asked.examples
        for texts in texts_of(plan, asked.rows[example.question_id])
    ]


def pipeline_of(name: str, pairs: list[tuple[str, str]], questions: int, batch_size: int) -> Callable[[], float]:
    """Questions a second of a pipeline of ``transformers`` over the embedded encoder."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    made = {
        "text-classification": transformers.AutoModelForSequenceClassification,
        "token-classification": transformers.AutoModelForTokenClassification,
        "feature-extraction": transformers.AutoModel,
    }[name]
    folder = str(find("embedded").folder)
    heads = {} if made is transformers.AutoModel else {"num_labels": 2}
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, model_max_length=512)
    pipe = transformers.pipeline(
        name, model=made.from_pretrained(folder, **heads).eval(), tokenizer=tokenizer, device=-1, batch_size=batch_size
    )
    if name == "text-classification":
        given: list[Any] = [{"text": passage, "text_pair": asked} for passage, asked in pairs]
        how: dict[str, Any] = {"truncation": "only_first", "max_length": 512}
    else:  # These take one text.
        given = [f"{passage} {asked}" for passage, asked in pairs]
        how = {} if name == "token-classification" else {"truncation": True, "return_tensors": True}

    def rate() -> float:
        began = time.perf_counter()
        pipe(given, **how)
        return questions / (time.perf_counter() - began)

    return rate
