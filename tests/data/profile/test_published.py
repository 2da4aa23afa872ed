"""The counts of the real files, and each oddity that is known of them, found by reading and profiling them."""

from pathlib import Path

import pyarrow as pa
import pytest

from coattend.config import BenchmarkParameters
from coattend.config.entries import benchmark_entry
from coattend.data.ingest import read_benchmark
from coattend.data.profile.statistics import BenchmarkRows, count_statistics, duplicate_statistics
from coattend.data.raw_files import raw_files

IN_TRAIN = "passages that are in train too"
REPEATED = "passages that repeat another"
EQUAL = "questions with equal options"
EXPECTED = {
    "race": {
        ("train", "all"): {"questions": 87866, "passages": 25135, EQUAL: 48},
        ("train", "middle"): {"questions": 25421},
        ("train", "high"): {"questions": 62445},
        ("dev", "all"): {"questions": 4887, "passages": 1389, EQUAL: 4, IN_TRAIN: 7},
        ("dev", "middle"): {"questions": 1436, "passages": 368},
        ("dev", "high"): {"questions": 3451, "passages": 1021},
        ("all", "all"): {"passages": 26526, "passages without a question": 2, "rejected records": 0},
    },
    "squad_v1": {
        ("train", "all"): {"questions": 11877 + 6296, "passages": 2430 + 3617, REPEATED: 1},
        ("dev", "all"): {"questions": 4961, "passages": 913, IN_TRAIN: 0},
        ("all", "all"): {"rejected records": 0},
    },
    "squad_v2": {
        ("train", "all"): {"questions": 4719 + 2411, "passages": 694 + 228, "unanswerable": 348 + 1226},
        ("dev", "all"): {"questions": 4029, "passages": 408, "unanswerable": 2137, IN_TRAIN: 0},
    },
    "squad_shifts": {
        ("test", "wikipedia"): {"questions": 7938, "passages": 1581},
        ("test", "amazon"): {"questions": 9885, "passages": 2050},
        ("test", "reddit"): {"questions": 9803, "passages": 2035, REPEATED: 2},
    },
    "recam": {
        ("train", "task 1"): {"questions": 1000 - 19},
        ("train", "task 2"): {"questions": 1000 - 7},
        ("dev", "task 1"): {"questions": 837},
        ("dev", "task 2"): {"questions": 851},
        ("trial", "task 3"): {"questions": 1000, "questions that repeat another": 1000 - 952},
        ("trial", "all"): {"questions that are in dev too": 1},
        ("all", "all"): {"rejected records": 19 + 7},
    },
    "cbt": {
        ("train", "NE"): {"questions": 12000},
        ("train", "CN"): {"questions": 12000},
        ("dev", "NE"): {"questions": 800},
        ("dev", "CN"): {"questions": 800},
        ("all", "all"): {"rejected records": 0},
    },
    "c3": {
        ("train", "mixed"): {"questions": 6013},
        ("train", "dialogue"): {"questions": 5856},
        ("dev", "mixed"): {"questions": 1991},
        ("dev", "dialogue"): {"questions": 1825},
        ("all", "all"): {"rejected records": 0},
    },
    "mctest": {
        ("train", "mc160"): {"questions": 280, "passages": 70},
        ("train", "mc500"): {"questions": 1200, "passages": 300},
        ("dev", "mc160"): {"questions": 120, "passages": 30},
        ("dev", "mc500"): {"questions": 200, "passages": 50},
        ("all", "all"): {"rejected records": 0},
    },
    "cosmos_qa": {
        # 2,985 questions about 2,445 passages, of which four fifths are trained on where there is no train.
        ("train", "all"): {"questions": 2388},
        ("dev", "all"): {"questions": 597},
        ("all", "all"): {"rejected records": 0},
    },
    "cmrc2017": {
        ("dev", "all"): {"questions": 2000, "passages": 1999},
        ("all", "all"): {"rejected records": 0},
    },
    # Two of the 1,002 questions are empty.
    "cmrc2018": {
        ("trial", "all"): {"questions": 1000, "passages": 256},
        ("all", "all"): {"rejected records": 2},
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_counts_and_oddities(raw: Path, name: str):
    benchmark = BenchmarkParameters.model_validate(benchmark_entry(name) | {"name": name})
    if not (raw / benchmark.sources[0].folder).is_dir():
        pytest.skip(f"COATTEND_RAW has no {benchmark.sources[0].folder}")
    tables = read_benchmark(benchmark, raw_files(benchmark, raw))
    material = BenchmarkRows.from_tables(pa.concat_tables(tables.questions), pa.concat_tables(tables.passages))
    rows = [*count_statistics(benchmark, material, tables.rejected.rows), *duplicate_statistics(material)]
    values_found = {(row.split, row.subset, row.name): row.value for row in rows}
    expected = {(*group, name): value for group, values in EXPECTED[name].items() for name, value in values.items()}
    assert {key: values_found.get(key) for key in expected} == expected
