"""What a training came to."""

from typing import Any

from transformers import TrainerState

from coattend.training.callbacks import Measure
from coattend.training.data import QuestionSet
from coattend.training.devices import device_name
from coattend.training.plan import Plan
from coattend.training.trial import Trial


def outcome_of(
    trial: Trial, plan: Plan, state: TrainerState, measure: Measure, train: QuestionSet, held_out: QuestionSet
) -> dict[str, Any]:
    """What a training came to, as JSON: what it was, what it cost, how it went, what it left out.

    Args:
        trial: The trial.
        plan: What was trained.
        state: The trainer's state at the end.
        measure: Seconds and memory.
        train: What was trained on.
        held_out: What the checkpoint was chosen by.
    """
    device, bf16 = plan.precision()
    curve = [
        {
            "step": entry["step"],
            "epoch": entry["epoch"],
            "loss": entry.get("loss"),
            "held_out": entry.get("eval_score"),
            "held_out_loss": entry.get("eval_loss"),
        }
        | entry.get("readings", {})
        for entry in state.log_history
        if "loss" in entry or "eval_score" in entry
    ]
    asked = len(train.examples) * state.epoch
    return {
        "trial_id": trial.id,
        "seed": trial.content["seed"],
        "folder": trial.id,
        "variant": plan.reader,
        "head": plan.head,
        "data": trial.content["data"],
        "options": plan.options,
        "training": trial.content["training"] | {"reads": plan.training.reads},
        "encoder": plan.encoder.source,
        "seconds": measure.seconds,
        "questions": len(train.examples),
        "questions_per_second": asked / measure.seconds if measure.seconds else 0.0,
        "peak_memory_mib": measure.memory.mib,
        "device": device_name(device),
        "precision": "bf16" if bf16 else "fp32",
        "tagger": plan.source.tokens.tagger,
        "selection": plan.training.selection,
        "best_step": state.best_global_step,
        "held_out": state.best_metric,
        "curve": curve,
        "unreadable": [vars(question) for question in (*train.unreadable, *held_out.unreadable)],
        "failure": None,
    }
