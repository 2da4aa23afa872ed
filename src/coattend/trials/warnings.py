"""Warnings about a training that went wrong, or about its data."""

from collections.abc import Iterator, Mapping

Signs = Mapping[str, float | None]
"""Diagnostics of a trial by name, as `coattend.training.diagnostics` computes them; None if one does not apply."""

STUCK = 0.99
"""Share of guessing's loss that training must come below. At 0.99 of ln 3 a reader of three options does no better than
give 40 % to the right one and 30 % to each other."""

FEW_STEPS = 200
"""Steps below which more of them most likely help a reader that has learned nothing."""
SMALL_BATCH = 1024
"""Tokens of a batch of a few questions."""

CONSTANT = 0.95
"""Share of one answer from which all count as the same: some trainings that collapse leave a few questions out."""

FEWEST = 20
"""Of fewer questions many may well have the same answer."""

TRUNCATED = 0.05
"""Share of passages that are cut. The differences that papers tell are of a few points: one question in twenty that
cannot be read to its end is as much."""

LOST = 0.01
"""Share of answers outside of what is read: none of them can be found, and one in a hundred is a point of the score."""

ERRONEOUS = 0.25
"""Share of tokens without a tag. With the Penn tagset they are the punctuation, 11 to 18 % of the words of the
benchmarks here; where a quarter has none, tagger and tagset do not fit each other or the language."""

UNKNOWN = 0.1
"""Share of words or characters that a vocabulary lacks: at one in ten a usual sentence has two."""


def alarms(signs: Signs) -> Iterator[str]:
    """Yield a sentence for each sign of a trial that looks wrong; signs that are not known raise none."""
    final, chance = signs.get("final_loss"), signs.get("chance_loss")
    if final is not None and chance and final >= STUCK * chance:
        yield f"the training loss ended at {final:.2f}, and guessing has {chance:.2f}: it learned next to nothing."
        steps = signs.get("steps")
        if steps is not None and steps < FEW_STEPS:
            settings = f"training.min_steps={FEW_STEPS} and training.tokens_per_batch={SMALL_BATCH}"
            yield f"{steps:.0f} steps are few: {settings} make more of them, in less time each."
    if signs.get("untrained_pooler"):
        yield "it scores the vector of a frozen pooler that was never trained, a random map of [CLS]: no baseline."
    shares = [
        ("truncated_passages", TRUNCATED, "of the passages are too long and are not read to their end."),
        ("lost_answers", LOST, "of the answers do not lie in what is read of their passages."),
        ("err_tags", ERRONEOUS, "of the tokens have no tag but ERR; punctuation alone is 10 to 20 %."),
        ("unknown_words", UNKNOWN, "of the words or characters of the questions held out are unknown to it."),
    ]
    if (signs.get("held_out_questions") or 0) >= FEWEST:
        shares.insert(0, ("most_given", CONSTANT, "of the questions held out get one and the same answer."))
    for name, limit, finding in shares:
        share = signs.get(name)
        if share is not None and share >= limit:
            yield f"{100 * share:.1f} % {finding}"
