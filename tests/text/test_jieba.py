"""Chinese words, marks and tags with their places."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coattend.config import TaggingParameters
from coattend.errors import CoattendError
from coattend.text import tagging
from coattend.text.jieba import JiebaTagger
from coattend.text.tagging import load_named_tagger, load_tagger
from coattend.text.tagset import ERR, tagset

pytest.importorskip("jieba")
JIEBA = TaggingParameters(tagger="jieba", tagset="jieba")
PARTS = [
    "北京大学",
    "的",
    "學生",
    "。",
    "！”",
    "“",
    "，",
    "……",
    "ＮＢＡ",
    "１９９８",
    "12.5%",
    "cat",
    " ",
    "\n",
    "\u3000",
    "😀",
    "𠮷",
]


def words_and_tags(text):
    words = load_tagger(JIEBA)(text)
    names = tagset("jieba").names
    return [(text[start:end], names[tag]) for start, end, tag in zip(*words, strict=True)]


def test_words_marks_and_tags():
    assert words_and_tags("他来到了网易杭研大厦。") == [
        *[("他", "r"), ("来到", "v"), ("了", "u"), ("网易", "n"), ("杭研", "vn"), ("大厦", "n"), ("。", "w")]
    ]
    # Full-width letters and digits make words as ASCII ones do, and marks of both kinds are words of their own.
    full_width = words_and_tags("“ＮＢＡ”在１９９８年，花了12.5%！")
    assert [word for word, _ in full_width] == [
        "“",
        "ＮＢＡ",
        "”",
        "在",
        "１９９８",
        "年",
        "，",
        "花",
        "了",
        "12.5%",
        "！",
    ]
    assert {word: tag for word, tag in full_width if tag in ("w", "eng", "m")} == {
        **dict.fromkeys("“”，！", "w"),
        **{"ＮＢＡ": "eng", "１９９８": "m", "年": "m"},
    }


@given(st.lists(st.sampled_from(PARTS) | st.text(max_size=3)).map("".join))
def test_words_have_all_but_spaces_in_order(text):
    words = load_tagger(JIEBA)(text)
    ends = [0, *words.ends]
    assert all(before <= start < end for before, start, end in zip(ends, words.starts, words.ends, strict=False))
    spelt = "".join(text[start:end] for start, end in zip(words.starts, words.ends, strict=True))
    assert "".join(spelt.split()) == "".join(text.split())
    assert ERR not in words.tag_ids


def test_sentences_end_behind_marks_and_closing_quotes():
    line = "男：“你好！”女：好……再见；明天3.5点见？走吧"
    spans = list(JiebaTagger().sentence_spans(line))
    sentences = ["男：“你好！”", "女：好……", "再见；", "明天3.5点见？", "走吧"]
    assert [line[start:end] for start, end in spans] == sentences
    assert [len(list(JiebaTagger().split(text))) for text in ("你好\n你好", "。", " \n", "")] == [2, 1, 0, 0]


def test_tags_are_classes_of_as_many_entries_as_penn():
    assert len(tagset("jieba")) == len(tagset("penn"))
    assert JiebaTagger().tag([["着", "ＮＢＡ", "——", "昨晚"]]) == [["u", "x", "w", "t"]]


def test_it_is_chosen_by_name_or_profile_and_needs_its_tagset(monkeypatch):
    assert load_named_tagger("jieba", JIEBA).digest == load_tagger(JIEBA).digest
    for mixed in ({"tagger": "jieba"}, {"tagset": "jieba"}):
        with pytest.raises(ValueError, match="tagger: jieba and tagset: jieba need each other"):
            TaggingParameters(**mixed)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CoattendError, match=r"^jieba: is not installed. Run `pip install jieba`"):
        tagging.load_tagger(JIEBA)
