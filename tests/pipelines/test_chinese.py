"""Chinese from files to pages: words by jieba, tokens by characters, an untrained encoder, and an encoder refused."""

import json

import pytest
import yaml

from coattend.errors import CoattendError
from coattend.reports.sections import UNTRAINED_NOTE

pytest.importorskip("jieba")
pytestmark = pytest.mark.slow

PLACES, THINGS = ["客厅", "阁楼", "花园", "厨房"], ["台灯", "沙发", "自行车", "书包", "雨伞"]


def questions(first, last):
    for number in range(first, last):
        thing, place = THINGS[number % 5], PLACES[number % 4]
        passage = f"第{number}天，“{thing}”在{place}里。" + "，".join(
            f"{other}不在那儿" for other in THINGS if other != thing
        )
        options = [f"在{name}里。" for name in PLACES]
        yield {
            "passage": f"{passage}！",
            "question": f"{thing}在哪儿？",
            "options": options,
            "answer": f"在{place}里。",
        }


@pytest.fixture
def chinese(project, monkeypatch):
    """A project with the benchmark ``dushu``, read by characters, and ``english``, the same texts by MiniLM."""
    raw = project / "raw"
    for name, rows in (("train", questions(0, 40)), ("dev", questions(40, 48))):
        (raw / "dushu").mkdir(parents=True, exist_ok=True)
        (raw / f"dushu/{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv("COATTEND_RAW", str(raw))
    source = {"format": "custom", "folder": "dushu", "files": {"train": ["train.jsonl"], "dev": ["dev.jsonl"]}}
    training = {"epochs": 1, "evaluations": 1, "tokens_per_batch": 1024, "held_out": 0.2}
    entry = {"title": "读书", "tasks": ["options"], "sources": [source], "workers": 1, "training": training}
    entry["readers"] = ["plain", "poi_net"]
    benchmarks = {"dushu": entry | {"encoder": "characters", "tagging": "jieba"}, "english": entry}
    (project / "conf/base/parameters/benchmarks/dushu.yml").write_text(yaml.safe_dump({"benchmarks": benchmarks}))
    tiny = {"encoders": {"characters": {"untrained": {"layers": 1, "hidden": 16, "heads": 2}}}}
    (project / "conf/test/parameters_characters.yml").write_text(yaml.safe_dump(tiny))
    return project / "data/test"


def test_characters_are_learned_and_pages_show_them(chinese, run_in, project):
    run = run_in(project)
    run("ingestion,tagging,tokenization,training,evaluation", "dushu")
    trial = json.loads((chinese / "06_models/dushu/poi_net.json").read_text())["trials"][0]
    assert (trial["encoder"], trial["tagger"]) == ("characters (untrained)", "jieba")
    run("reporting", "dushu")
    page = (chinese / "08_reporting/dushu/index.html").read_text()
    assert "读书" in page
    assert UNTRAINED_NOTE in page
    assert "characters (untrained)" in page
    written = (chinese / "08_reporting/dushu/results.json").read_text()
    assert "读书" in written
    assert "\\u" not in written


def test_an_encoder_that_does_not_know_the_language_is_refused(chinese, run_in, project):
    run = run_in(project)
    run("ingestion,tagging,tokenization", "english")
    with pytest.raises(CoattendError) as error:
        run("training", "english.plain")
    message = str(error.value)
    assert "english.plain, encoder" in message
    assert "% of the tokens of its training questions, of which at most 5 % may be unknown" in message
    assert "Set its encoder to `characters`" in message


def test_words_whose_vectors_the_encoder_does_not_have_are_refused(chinese, run_in, project):
    run, words = run_in(project), {"reader": "recurrent+dual_multi_head", "head": "options", "hidden": 16}
    entries = {
        "borrowed": words | {"vectors": "encoder"},
        "learned": words | {"vectors": "random", "vector_width": 16, "train_vectors": True},
    }
    (project / "conf/base/parameters_words.yml").write_text(yaml.safe_dump({"readers": entries}))
    file = project / "conf/base/parameters/benchmarks/dushu.yml"
    benchmarks = yaml.safe_load(file.read_text())
    benchmarks["benchmarks"]["english"]["readers"] = list(entries)
    file.write_text(yaml.safe_dump(benchmarks))
    run("ingestion,tagging,tokenization", "english")
    with pytest.raises(
        CoattendError, match=r"english\.borrowed, .* at most 5 % may be unknown\. Set vectors to random"
    ):
        run("training", "english.borrowed")
    run("training", "english.learned")
