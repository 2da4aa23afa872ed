"""Problems of raw files: each is told once, by the file and the line where it is."""

import gzip
import json

from entries import benchmark, dialogue, source, write

from coattend.data.problems import collect_problems
from coattend.data.raw_files import raw_files

ROW = {"passage": "The lamp is in the hall.", "question": "Where?", "options": ["in the hall", "at sea"], "label": 0}


def test_a_bad_line_of_a_packed_file_is_told_once_by_the_file_inside(tmp_path):
    entry = benchmark(source(format="custom", files={"train": ["train.jsonl.gz"], "dev": ["dev.jsonl"]}))
    (tmp_path / "lamps").mkdir()
    (tmp_path / "lamps/train.jsonl.gz").write_bytes(gzip.compress(f"{json.dumps(ROW)}\n{{\n".encode()))
    (tmp_path / "lamps/dev.jsonl").write_text(json.dumps(ROW) + "\n")
    first, *others = collect_problems(entry, raw_files(entry, tmp_path))
    assert (first.file, first.record, first.consequence) == ("train.jsonl", "line 2", "stops ingestion")
    assert "is not JSON" in first.reason
    assert not any(problem.record == "line 2" for problem in others)


def test_a_bad_line_of_annotations_stops_ingestion(tmp_path):
    write(tmp_path, "train.json", dialogue())
    write(tmp_path, "dev.json", dialogue("d", text="The sofa is there."))
    entry, annotations = benchmark(), tmp_path / "annotator1_dev.txt"
    annotations.write_text("this is no annotation\n")
    first, *_ = collect_problems(entry, raw_files(entry, tmp_path), [annotations])
    assert (first.file, first.record, first.consequence) == ("annotator1_dev.txt", "line 1", "stops ingestion")
