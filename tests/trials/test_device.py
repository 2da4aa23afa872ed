"""Worker processes take a GPU each, full memory has a cure, and the garbage collector leaves alone what is loaded."""

import gc
import os
import time
from functools import partial
from typing import Any

import pytest
import torch

from coattend.config import LOCAL, TrainingParameters
from coattend.parallel.engine import call, map_shards
from coattend.readers.reader import Reader
from coattend.training.run_trial import TrialRunner
from coattend.trials.device import freeze_gc, gpu_index, uses_bf16, visible_gpus
from experiments import train_reader, train_seed


@pytest.mark.parametrize(
    ("process", "count", "gpu"),
    [("ForkServerProcess-3", 4, 3), ("SpawnProcess-9:5", 4, 1), ("MainProcess", 4, 0), ("ForkServerProcess-3", 1, 0)],
)
def test_a_process_takes_the_gpu_of_its_number(process, count, gpu):
    assert gpu_index(process, count) == gpu


@pytest.mark.parametrize(
    ("machine", "processor", "avx512_bf16", "amx", "emulated", "used"),
    [
        ("x86_64", "AMD EPYC 9V74 80-Core Processor", True, False, True, True),
        ("x86_64", "Intel(R) Xeon(R) Processor", True, True, True, True),
        ("x86_64", "Intel(R) Xeon(R) Processor", True, False, True, False),
        ("x86_64", "Intel(R) Xeon(R) Processor", False, False, True, False),
        ("aarch64", "aarch64", False, False, True, True),
        ("aarch64", "aarch64", False, False, False, False),
    ],
)
def test_bf16_is_used_where_the_processor_is_faster_in_it(
    monkeypatch, machine, processor, avx512_bf16, amx, emulated, used
):
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr("coattend.trials.device.processor_name", lambda: processor)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512_bf16)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: emulated)
    assert uses_bf16(TrainingParameters(), "cpu") == used
    for precision in ("bf16", "fp32"):
        assert uses_bf16(TrainingParameters(precision=precision), "cpu") == (precision == "bf16")


# What asks for GPUs when it is imported, and this module, come behind it.
CHOOSES_GPU = """
import os, sys
from coattend.trials.device import use_worker_gpu
use_worker_gpu(["1", "GPU-f0"])
os.environ["COATTEND_TEST_IMPORTED"] = " ".join({"torch", "peft", "bitsandbytes"} & sys.modules.keys())
"""


def gpu_of_process(runner: TrialRunner) -> tuple[str, str]:
    # One process alone would take both tasks.
    (runner.store / str(os.getpid())).touch()
    deadline = time.monotonic() + 60
    while len(list(runner.store.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    return os.environ["CUDA_VISIBLE_DEVICES"], os.environ["COATTEND_TEST_IMPORTED"]


@pytest.mark.slow
def test_two_workers_see_a_gpu_each_before_anything_asks_for_one(experiment_for, tmp_path):
    tasks = [partial(gpu_of_process, TrialRunner.of(experiment_for(), tmp_path))] * 2
    devices = map_shards(LOCAL, call, tasks, workers=2, initializer=partial(exec, CHOOSES_GPU))
    assert sorted(devices) == [("1", ""), ("GPU-f0", "")]


@pytest.mark.parametrize(
    ("chosen", "count", "gpus"),
    [(None, 2, ["0", "1"]), ("3, GPU-f0", 2, ["3", "GPU-f0"]), ("0,7", 1, ["0"]), ("", 0, []), (None, 0, [])],
)
def test_gpus_have_the_names_that_chose_them(monkeypatch, chosen, count, gpus):
    # PyTorch sees none behind a name that the machine does not have.
    monkeypatch.setattr("coattend.trials.device.gpu_count", lambda: count)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if chosen is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    assert visible_gpus() == gpus


def test_a_batch_that_is_too_large_for_the_gpu_has_a_cure(experiment_for, tmp_path, monkeypatch):
    def fill_memory(*_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    monkeypatch.setattr(Reader, "forward", fill_memory)
    outcome, _ = TrialRunner.of(experiment_for(), tmp_path).attempt(0)
    assert "training.tokens_per_batch: a batch of" in outcome["failure"]
    assert "Halve it and double training.accumulate" in outcome["failure"]


@pytest.fixture
def unfrozen_gc():
    gc.unfreeze()
    freeze_gc.cache_clear()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("unfrozen_gc")
@pytest.mark.parametrize("train", [pytest.param(train_reader, marks=pytest.mark.slow), train_seed])
def test_garbage_is_searched_for_in_what_is_new_alone(experiment_for, tmp_path, train):
    train(experiment_for(seeds=[3]), tmp_path)
    loaded = gc.get_freeze_count()
    assert loaded > 10 * len(gc.get_objects())
    train(experiment_for(seeds=[4]), tmp_path)
    assert gc.get_freeze_count() <= loaded
