"""The data stages write the same files, byte for byte, with one process and with two. (Predictions of two
processes: files of questions in ``test_prediction.py``, trials in ``tests/parallel/test_dask.py``.)"""

import shutil
from multiprocessing import process

import pytest

from coattend.pipelines import shards

STAGES = "ingestion,tagging,tokenization"
FOLDERS = ("02_intermediate", "03_primary", "04_feature", "05_model_input")


@pytest.mark.slow
def test_two_processes_write_what_one_writes(kedro_run, project, monkeypatch):
    monkeypatch.setattr(shards, "MIN_PARALLEL_BYTES", 0)  # The sample is so small that one process would do it all.
    data = project / "data" / "test"

    def run(workers: int) -> tuple[dict[str, bytes], int]:
        before = next(process._process_counter)
        kedro_run(STAGES, "sample", benchmarks={"sample": {"workers": workers}})
        started = next(process._process_counter) - before - 1
        paths = [file for folder in FOLDERS for file in data.joinpath(folder).rglob("*") if file.is_file()]
        return {str(file.relative_to(data)): file.read_bytes() for file in paths}, started

    by_one_process, alone = run(1)
    for folder in FOLDERS:
        shutil.rmtree(data / folder)
    two, together = run(2)
    assert (alone, together > 1) == (0, True)
    assert len([name for name in by_one_process if name.endswith(".parquet")]) >= 6
    assert by_one_process == two
