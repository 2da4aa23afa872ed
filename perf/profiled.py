"""Where the time of our training step goes, by PyTorch's profiler: the plain reader on DREAM, by kind of operation."""

from typing import Any

from torch.profiler import ProfilerActivity, profile

from perf.prepared import Prepared
from perf.recipes import Recipe, ours, spread

KINDS: dict[str, tuple[str, ...]] = {
    "products of linear layers": ("mm", "addmm"),
    "attention": (
        "_scaled_dot_product_flash_attention_for_cpu",
        "_scaled_dot_product_flash_attention_for_cpu_backward",
        "bmm",
        "baddbmm",
        "_softmax",
        "_softmax_backward_data",
    ),
    "copies, most of them between types": ("copy_",),
    "GELU": ("gelu", "gelu_backward"),
    "layer norms": ("native_layer_norm", "native_layer_norm_backward"),
    "AdamW and clipping": ("_fused_adamw_", "linalg_vector_norm"),
}
"""Operations of PyTorch, by what they are for; what is none of these is told as the rest."""


def measure(prepared: Prepared, rounds: int, batches: int) -> dict[str, Any]:
    """The percent of a step that each kind of operation takes, and how fast the products of linear layers are."""
    plan = prepared.plan(prepared.either("dream"), "plain")
    train, _ = plan.training_questions()
    recipe = ours(plan, train)
    drawn = [batch for turn in range(rounds) for batch in spread(recipe.batches, batches, turn)]
    for batch in drawn:  # Kernels of every shape, and memory for them.
        recipe.step(batch)
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        for batch in drawn:
            recipe.step(batch)
    taken = {one.key.removeprefix("aten::"): one.self_cpu_time_total / 1e6 for one in seen.key_averages()}
    seconds, whole = by_kind(taken), sum(taken.values())
    products = 6 * _linear_weights(recipe) * sum(_padded_tokens(recipe, batch) for batch in drawn)
    return {
        "benchmark": plan.benchmark,
        "percent": {kind: round(100 * one / whole, 1) for kind, one in seconds.items()},
        "gflops_of_products": round(products / seconds["products of linear layers"] / 1e9),
    }


def by_kind(taken: dict[str, float]) -> dict[str, float]:
    """Seconds of each kind of operation, and of the rest.

    Args:
        taken: Seconds of each operation of PyTorch, without those that it calls.
    """
    found = {kind: sum(taken.get(name, 0.0) for name in names) for kind, names in KINDS.items()}
    return found | {"the rest": sum(taken.values()) - sum(found.values())}


def _linear_weights(recipe: Recipe) -> int:
    return sum(one.numel() for one in recipe.reader.encoder.model.encoder.parameters() if one.dim() == 2)


def _padded_tokens(recipe: Recipe, batch: list[int]) -> int:
    questions = [recipe.examples[row] for row in batch]
    return sum(len(one.sequences) for one in questions) * max(map(recipe.collator.sequence_length, questions))
