"""Steps, batches, warm-up and checkpoints of the papers' studies in the environment paper, beside what is printed."""

from fnmatch import fnmatchcase
from functools import cache
from math import ceil
from typing import NamedTuple

import numpy as np
import pytest

from coattend import readers, studies
from coattend.batches.sampler import LengthBuckets
from coattend.config import BenchmarkParameters, ReaderParameters, TrainingParameters, source, training_of
from coattend.settings import CONFIG_LOADER_ARGS, ProjectConfigLoader

LENGTHS = {
    "dream": (
        "0 0 4 85 350 551 555 465 357 226 161 59 51 40 42 55 69 83 104 125 143 139 120 139 94 102 102 103 87 98 "
        "91 90 79 84 74 79 77 59 62 54 37 53 45 33 35 33 42 60 34 36 48 31 21 19 6 14 20 15 9 10 21 13 6 217"
    ),
    "race": (
        "0 2 4 4 1 9 6 19 49 46 83 167 205 245 377 423 495 474 581 631 679 799 855 883 1039 1026 1128 1159 1206 "
        "1171 1208 1235 1393 1454 1511 1434 1636 1830 1834 2054 2139 2337 2356 2566 2867 2916 2932 3064 3027 3012 "
        "2892 2801 2587 2411 2228 2257 1838 1675 1383 1302 1053 916 819 7133"
    ),
    "squad_v1": (
        "0 0 0 0 5 74 243 278 349 428 464 545 602 725 972 1060 1151 1088 976 1006 829 844 825 717 598 523 457 361 "
        "333 327 294 272 277 218 161 130 127 122 113 91 90 60 53 59 35 35 23 39 24 20 12 22 19 15 20 23 9 4 1 2 3 "
        "2 2 16"
    ),
    "recam": "0 0 0 0 0 0 0 0 5 11 16 28 30 26 24 25 23 21 1628",
}
"""Questions whose longest sequence has at most 8, 16, 24 ... tokens of MiniLM's WordPiece, cut as the environment says:
all training questions of DREAM and RACE, 18,173 of SQuAD 1.1's, and 1,837 of ReCAM's first task (cut at 150)."""

SEQUENCES = {"dream": 3, "race": 4, "squad_v1": 1, "squad_v2": 1, "recam": 5}
"""Sequences of a question."""

WORDS = {"cbt": {"NE": 458, "CN": 496}, "cnn": {"": 775}}
"""Mean words of passage and question by subset: 433, 470 and 762 of the passages, as printed with the CAS Reader, and
those of a question in CBT as rebuilt and, for CNN, about 13."""


class Printed(NamedTuple):
    """What a paper prints of the training of its studies on a benchmark.

    Attributes:
        studies: Their names, as a pattern.
        batch: Questions of a step.
        warmup: Steps, or a share of them.
        every: Steps between two checkpoints.
        fields: Other fields of training.
    """

    studies: str
    benchmark: str
    batch: int
    epochs: float
    warmup: float
    every: int
    fields: dict[str, object]


ALBERT = {"learning_rate": 1e-5, "max_length": 512, "weight_decay": 0, "selection": "dev", "schedule": "linear"}
ABLATED = {**ALBERT, "patience": 3}
RECAM = {"learning_rate": 5e-6, "max_length": 150, "weight_decay": 0.01, "clip": 10, "selection": "dev"}
PRINTED = [
    # Table 2, whose batches of 24 and 32 are sequences: 8 questions of 3 and 4 options.
    Printed("poi_net_*", "dream", 8, 4, 0.1, 400, ALBERT),
    Printed("poi_net_*", "race", 8, 2, 0.1, 4000, ALBERT),
    Printed("poi_net_*", "squad_v1", 24, 2, 0.1, 2000, ALBERT),
    Printed("poi_net_*", "squad_v2", 24, 2, 0.1, 4000, ALBERT),
    # Section 5.2, likewise, and section 6's at most 12 epochs.
    Printed("duma_tables_2_4", "dream", 8, 2, 100, 382, ALBERT),
    Printed("duma_tables_2_4", "race", 8, 3, 1000, 3000, ALBERT),
    Printed("duma_table[5-9]", "dream", 8, 12, 100, 382, ABLATED),
    Printed("duma_table1[0-2]", "dream", 8, 12, 100, 382, ABLATED),
    Printed("duma_figure4", "dream", 8, 12, 100, 382, ABLATED),
    # The read-me's command; the warm-up is its Train.py's.
    Printed("recam_*", "recam", 2, 3, 0.1, 400, RECAM),
]
OTHER_EPOCHS = {"recam_joint": {"joint_6_epochs", "coarse"}}
"""Variants that are trained for longer or for less than their paper's other ones."""


@pytest.fixture(scope="module")
def loaded():
    """The studies of the environment paper."""
    yield ProjectConfigLoader("conf", env="paper", **CONFIG_LOADER_ARGS)["parameters"]["studies"]
    source.enter("conf", "test")


def trained(loaded, study: str, variant: str, benchmark: str) -> TrainingParameters:
    entry = ReaderParameters.model_validate(loaded[study]["variants"][variant])
    settings = BenchmarkParameters.model_validate(loaded[study]["benchmarks"][benchmark])
    return training_of(settings, entry, recurrent=readers.encoder_of(entry.reader) == "recurrent")


def variants_on(loaded, study: str, benchmark: str) -> list[str]:
    of_study = studies.load_study(study).parameters
    return [name for name in loaded[study]["variants"] if benchmark in of_study.benchmarks_of(name)]


@cache
def batches_of_an_epoch(benchmark: str, questions: int, tokens_per_batch: int) -> int:
    """Cut as many questions as were published into batches, with lengths as they were measured."""
    # SQuAD 2.0 asks more about the paragraphs of 1.1.
    counts = np.array(LENGTHS[benchmark.replace("v2", "v1")].split(), float)
    rows = np.diff(np.round(counts.cumsum() / counts.sum() * questions), prepend=0).astype(int)
    lengths = np.repeat(8 * np.arange(1, len(counts) + 1), rows)
    sequences = np.full(questions, SEQUENCES[benchmark])
    return len(LengthBuckets.from_lengths(lengths, sequences, tokens_per_batch=tokens_per_batch))


def questions_of(loaded, study: str, benchmark: str) -> int:
    published = BenchmarkParameters.model_validate(loaded[study]["benchmarks"][benchmark]).published
    return int(published["train/task 1" if benchmark == "recam" else "train"]["questions"])


@pytest.mark.parametrize("printed", PRINTED, ids=lambda printed: f"{printed.studies} {printed.benchmark}")
def test_a_training_has_the_steps_that_are_printed(loaded, printed):
    names = [name for name in loaded if fnmatchcase(name, printed.studies)]
    pairs = [(name, variant) for name in names for variant in variants_on(loaded, name, printed.benchmark)]
    assert pairs
    for study, variant in pairs:
        training = trained(loaded, study, variant, printed.benchmark)
        questions = questions_of(loaded, study, printed.benchmark)
        of_epoch = batches_of_an_epoch(printed.benchmark, questions, training.tokens_per_batch) / training.accumulate
        assert of_epoch == pytest.approx(questions / printed.batch, rel=0.03), (study, variant)
        assert {field: getattr(training, field) for field in printed.fields} == printed.fields
        if variant in OTHER_EPOCHS.get(study, ()):
            continue
        assert training.epochs == printed.epochs
        steps, expected = training.epochs * of_epoch, printed.epochs * questions / printed.batch
        warmup = printed.warmup if printed.warmup < 1 else printed.warmup / expected
        assert training.warmup == pytest.approx(warmup, rel=0.02)
        # Checkpoints divide a training evenly, so that their number is that of the printed ones, rounded.
        assert training.evaluations == round(expected / printed.every), (study, variant)
        assert ceil(steps / training.evaluations) == pytest.approx(printed.every, rel=0.1)


@pytest.mark.parametrize("study", ["aoa_results_cnn", "aoa_results_cbt_ne", "aoa_results_cbt_cn", "aoa_ensembles_cnn"])
def test_readers_of_clozes_are_trained_as_their_papers_print(loaded, study):
    (benchmark,) = loaded[study]["benchmarks"]
    rates = {"aoa_reader": (1e-3, 5), "as_reader": (1e-3, 10), "cas_reader": (5e-4, 10), "ga_reader": (5e-4, 10)}
    for variant in loaded[study]["variants"]:
        training = trained(loaded, study, variant, benchmark)
        (subset,) = training.train_on.values() or [""]
        assert training.tokens_per_batch / WORDS[benchmark][subset] == pytest.approx(32, rel=0.1)
        assert (training.schedule, training.weight_decay, training.warmup) == ("constant", 0, 0)
        assert training.selection == "dev"
        assert (training.learning_rate, training.clip) == rates.get(variant, (1e-3, 5))


READERS_OF_CLOZES = ("aoa_reader", "as_reader", "cas_reader", "ga_reader")


@pytest.mark.parametrize("study", ["results_cnn", "results_cbt_ne", "ensembles_cbt_cn", "reranking_cbt_ne"])
def test_readers_of_clozes_have_two_recurrent_layers_and_every_word(loaded, study):
    for variant, content in loaded[f"aoa_{study}"]["variants"].items():
        entry = ReaderParameters.model_validate(content)
        if variant in READERS_OF_CLOZES:
            options = readers.resolve(entry.reader, **entry.options)
            assert options["shared"] is False and "most_words" not in options
            # The GA Reader's release trains word2vec's vectors on CNN alone; the others draw and train theirs.
            assert options["train_vectors"] is (variant != "ga_reader" or study.endswith("cnn"))


def test_plain_adam_has_a_constant_rate(loaded):
    names = [name for name in loaded if name.startswith("dcn_plus")] + ["aoa_interactive"]
    for study in names:
        for variant in loaded[study]["variants"]:
            training = trained(loaded, study, variant, "squad_v1")
            rate = (training.learning_rate, training.schedule, training.weight_decay, training.warmup)
            assert rate == (1e-3, "constant", 0, 0)
            assert training.selection == "dev"


def test_the_larger_encoders_rows_are_run_with_the_table(loaded):
    larger = {}
    for study in ("table3", "table7", "table8", "table10", "table11", "table12"):
        content = loaded[f"poi_net_{study}"]
        rows = {name: ReaderParameters.model_validate(entry).encoder for name, entry in content["variants"].items()}
        larger[study] = {name for name, encoder in rows.items() if encoder == "albert_xxlarge"}
        assert larger[study] == {name for name in rows if name.endswith("_xxlarge")}
        for printed in content["about"]["printed"]:
            encoder = "albert_base" if printed["encoder"] == "ALBERT-base" else "albert_xxlarge"
            assert {rows[name] for name in printed["numbers"]} == {encoder}
    assert larger["table7"] == {"plain_xxlarge", "poi_net_xxlarge", "multi_head_3_xxlarge"}
    assert {"plain_xxlarge", "poi_net_xxlarge"} <= larger["table3"] & larger["table12"]
