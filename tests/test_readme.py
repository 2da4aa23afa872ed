"""Examples of the README work as printed; its commands and links are tested with those of all pages."""

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

from coattend import readers
from coattend.config import ReaderParameters
from coattend.config.entries import complete_reader
from coattend.data.formats import custom
from coattend.readers.zoo import ZOO

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_new_reader_can_be_built_from_its_one_file(tmp_path):
    code = next(block for block in blocks("python") if "READER = NamedReader" in block)
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


def test_the_csv_that_it_shows_can_be_read(tmp_path):
    (tmp_path / "train.csv").write_text(blocks("csv")[0])
    passages = list(custom.read(tmp_path / "train.csv", max_characters=1000))
    assert len({passage.passage_id for passage in passages}) == 2
    right = [question.options[question.label] for passage in passages for question in passage.questions]
    assert right == ["In the hall.", "A bicycle."]


def test_every_reader_has_its_line():
    table = README.partition("## Readers\n\n")[2].partition("\n\n")[0]
    first = [line.split("|")[1] for line in table.splitlines()]
    assert set(ZOO) == set(re.findall(r"`(\w+)`", "".join(first)))


def entries():
    """Readers of the YAML blocks, of the page of readers and of the parameter files, by name."""
    for block in [
        *blocks("yaml"),
        *re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/readers.md").read_text(), re.DOTALL),
        *(file.read_text() for file in (ROOT / "conf/base").glob("parameters_training.yml")),
    ]:
        _, mark, of_readers = block.partition("readers:\n")
        yield from (yaml.safe_load(mark + of_readers) or {}).get("readers", {}).items()


def test_readers_with_entries_of_their_own_can_be_built():
    built = {name: ReaderParameters.model_validate(complete_reader(name, entry)) for name, entry in entries()}
    assert {"duma_roberta", "poi_net_word", "mine"} <= set(built)
    for entry in built.values():
        assert readers.resolve(entry.reader, head=entry.head, **entry.options)
