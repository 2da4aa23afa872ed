"""Files that pages show are in the formats that the text says."""

import os
import re
import subprocess
import sys

import pytest
import yaml
from documented import DOCS, FENCED, ROOT, blocks

from coattend import readers
from coattend.config import BenchmarkParameters, ReaderParameters, entries
from coattend.data.formats import format_reader
from coattend.data.formats.base import PassageRecord, Rejection
from coattend.errors import CoattendError

FILES = {
    "dream": "train.json",
    "race": "high1.txt",
    "recam": "train.jsonl",
    "squad_v1": "train.json",
    "squad_v2": "train.json",
    "cnn": "a.question",
}


@pytest.mark.parametrize("benchmark", FILES)
def test_native_formats_are_as_shown(benchmark, tmp_path):
    part = (DOCS / "benchmarks.md").read_text().partition(f"\n## {benchmark}\n")[2].partition("\n## ")[0]
    (text,) = [text for _, text in FENCED.findall(part)]
    file = tmp_path / FILES[benchmark]
    file.write_text(text)
    (passage,) = format_reader(benchmark.partition("_")[0], {})(file, max_characters=1000)
    assert isinstance(passage, PassageRecord)
    assert len(passage.questions) == 1


def test_the_format_that_is_added_reads_its_lines(tmp_path):
    (block,) = [
        block for block in blocks("python", DOCS / "tutorials/add_benchmark.md") if block.path.endswith("tabbed.py")
    ]
    namespace = {}
    exec(compile(block.text, block.path, "exec"), namespace)
    (tmp_path / "a.txt").write_text("It is in the hall.\tWhere is it?\tIn the hall.\tAt sea.\nIt is lost.\tWhy?\n")
    right, wrong = namespace["read"](tmp_path / "a.txt", max_characters=1000)
    assert right.questions[0].options[right.questions[0].label] == "In the hall."
    assert isinstance(wrong, Rejection) and wrong.record == "line 2"


def test_the_benchmark_by_a_file_reads_the_file_that_is_shown(tmp_path):
    page = DOCS / "tutorials/add_benchmark.md"
    (content,) = blocks("json", page)
    (block,) = [block for block in blocks("yaml", page) if block.path.endswith("lessons.yml")]
    ((name, entry),) = yaml.safe_load(block.text)["benchmarks"].items()
    (source,) = BenchmarkParameters.model_validate(entry | {"name": name}).sources
    (tmp_path / "train.json").write_text(content.text)
    read = format_reader(source.format, source.options, source.fields)
    (record,) = read(tmp_path / "train.json", max_characters=1000)
    (question,) = record.questions
    assert record.text == "Anna sold her boat.\nShe bought a bicycle."
    assert (question.question_id, question.options[question.label]) == ("l1-1", "A bicycle.")
    misspelt = source.fields.model_copy(update={"passage": "txts"})
    with pytest.raises(CoattendError, match=re.escape("has no 'txts'. Did you mean 'texts'?")):
        list(format_reader(source.format, {}, misspelt)(tmp_path / "train.json", max_characters=1000))


@pytest.mark.slow
def test_the_new_reader_can_be_built_from_its_one_file(tmp_path):
    code = next(
        block.text for block in blocks("python", DOCS / "tutorials/add_reader.md") if "class LookOnce" in block.text
    )
    (tmp_path / "look_once.py").write_text(code)
    info = tmp_path / "look_once-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: look-once\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[coattend.readers]\nlook_once = look_once\n")
    check = (
        "import sys; from coattend import readers\n"
        "assert 'look_once' in readers.names() and 'torch' not in sys.modules\n"
        "from transformers import BertConfig\n"
        "tiny = BertConfig(vocab_size=99, hidden_size=8, num_hidden_layers=1, num_attention_heads=2)\n"
        "for head in ('options', 'span'): readers.build('look_once', encoder=tiny, head=head, sharpness=2.0)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", check], env=environment, check=True)


def test_the_files_that_are_added_are_a_reader_a_benchmark_and_a_study(written_project, pipelines):
    assert {"exams", "study_mine_turns"} <= set(pipelines)
    entry = ReaderParameters.model_validate(entries.reader_entry("look_twice"))
    assert readers.resolve(entry.reader, head=entry.head, **entry.options)["turns"] == 2
    assert {"exams.poi_net", "exams.look_twice"} <= {node.namespace for node in pipelines["training"].nodes}


@pytest.mark.slow
def test_a_package_that_is_installed_brings_its_reader(tmp_path):
    for language in ("toml", "python"):
        for block in blocks(language, DOCS / "tutorials/add_reader.md"):
            if block.path and "/" not in block.path:
                (tmp_path / block.path).write_text(block.text)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", tmp_path / "installed", tmp_path], check=True)
    check = (
        "import sys; from coattend import readers\n"
        "from coattend.pipeline_registry import register_pipelines\n"
        "names = {node.namespace for node in register_pipelines()['training'].nodes}\n"
        "assert {'dream.midpoint', 'squad_v1.midpoint'} <= names\n"
        "assert 'torch' not in sys.modules\n"
        "assert readers.resolve('midpoint', share=0.3)['share'] == 0.3\n"
        "assert 'coattend_midpoint.py' in {file.name for file in readers.sources('midpoint')}\n"
        "from transformers import BertConfig\n"
        "tiny = BertConfig(vocab_size=99, hidden_size=8, num_hidden_layers=1, num_attention_heads=2)\n"
        "for head in ('options', 'span'): readers.build('midpoint', encoder=tiny, head=head)\n"
    )
    path = os.pathsep.join([str(tmp_path / "installed"), *filter(None, [os.environ.get("PYTHONPATH")])])
    subprocess.run([sys.executable, "-c", check], cwd=ROOT, env=os.environ | {"PYTHONPATH": path}, check=True)
