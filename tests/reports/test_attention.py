"""The attention page in a real browser: it shows what was chosen, and hostile text stays text."""

import json
import re

import pyarrow as pa
import pytest

from coattend.reports.attention import render_html
from coattend.schemas import ATTENTION

HOSTILE = "</script><script>alert(1)</script> | <b>*x*</b>"
TURNS = {"on": "passage", "by": None, "level": "turn", "levels": 2, "kind": "score"}
DROP = {"on": "passage", "by": None, "level": None, "levels": 1, "kind": "drop"}
SHARE = {"on": "passage", "by": None, "level": None, "levels": 1, "kind": "share"}
TOKENS = (("[CLS]", None, None), ("red", 0, 3), ("sun", 4, 7))


def map_rows(question, trial, name, sequence, *levels):
    """Rows of the attention table: a map of three tokens by level."""
    key = {"question_id": question, "trial_id": trial, "sequence": sequence, "map": name, "domain": "passage"}
    for index, ((text, start, end), values) in enumerate(zip(TOKENS, zip(*levels, strict=True), strict=True)):
        yield key | {"token": index, "text": text, "start": start, "end": end, "values": list(values)}


def attention_table(*maps):
    return pa.Table.from_pylist([row for rows in maps for row in rows], schema=ATTENTION)


def option_reading(label, probabilities, agreement=None):
    return {
        "prediction": "ab"[label],
        "label": label,
        "correct": label == 0,
        "f1": float(label == 0),
        "sequence": label,
        "probabilities": probabilities,
        "spans": None,
        "nothing": None,
        "probability": probabilities[label],
        "agreement": agreement or {},
        "sequences": [{"texts": ["Who?", option]} for option in ("a", "b")],
    }


def reader_record(trial, name, legend, agreement):
    record = {"trial_id": trial, "reader": name, "head": "options", "seed": 0, "encoder": "embedded"}
    return record | {"options": {"note": HOSTILE}, "legend": legend, "agreement": agreement}


@pytest.fixture(scope="session")
def readings():
    mean_agreement = {"passage_scores": [{"mean": 0.5, "questions": 2}, {"mean": None, "questions": 0}]}
    question = {"split": "dev", "subset": None, "options": ["a", "b"], "label": 0, "answers": None, "answerable": True}
    agreement = {"passage_scores": [-0.25, None]}
    of_first = [option_reading(0, [0.75, 0.25], agreement), option_reading(1, [0.4, 0.6])]
    of_second = [option_reading(1, [0.125, 0.875], agreement), option_reading(1, [0.3, 0.7])]
    first = {"question_id": "q1", "question": "Who?", "passage": "red sun not read", "readings": of_first}
    second = {"question_id": "q2", "question": HOSTILE, "passage": "red sun " + HOSTILE, "readings": of_second}
    return {
        "benchmark": "sample",
        "title": "Sample",
        "task": "options",
        "occlusion": True,
        "readers": [
            reader_record("t1", "poi_net", {"passage_scores": TURNS, "occlusion": DROP}, mean_agreement),
            reader_record("t2", "plain", {}, {}),
        ],
        "questions": [question | first, question | second],
    }


@pytest.fixture(scope="session")
def page(readings):
    maps = attention_table(
        map_rows("q1", "t1", "passage_scores", 0, [0.0, 0.5, 1.0], [0.0, 0.75, 0.1]),
        map_rows("q1", "t1", "passage_scores", 1, [0.0, 0.3, 0.3], [0.0, 0.2, 0.2]),
        map_rows("q1", "t1", "occlusion", 0, [0.0, -0.125, 0.5]),
        map_rows("q2", "t1", "passage_scores", 1, [0.0, 0.9, 0.8], [0.0, 0.7, 0.6]),
    )
    return render_html(readings, maps)


def with_script(page, script):
    """Add a script that uses the page's controls."""
    return page.replace(
        "</body>", f"<script>{{ const at = (id) => document.getElementById(id); {script} }}</script></body>"
    )


def without_scripts(document):
    return re.sub(r"<script.*?</script>", "", document, flags=re.DOTALL)


def shades(document):
    """Titles of tokens, with their numbers, to how dark they are."""
    tokens = re.findall(
        r'<span class="token[^"]*"[^>]*?style="([^"]*)"[^>]*?title="([^"]*)"', without_scripts(document)
    )
    tokens += [(b, a) for a, b in re.findall(r'<span class="token[^"]*" title="([^"]*)" style="([^"]*)"', document)]
    return {title: float(re.search(r"--share: ?([\d.]+)%", style).group(1)) for style, title in tokens}


def test_it_loads_nothing_and_escapes(page):
    assert "http" not in re.sub(r"<meta[^>]*>", "", page)
    assert "<b>*x*</b>" not in page


def test_the_page_has_every_sequence_with_its_tokens_and_maps(page, readings):
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert data["readers"] == readings["readers"]
    first, second = data["questions"][0]["readings"][0]["sequences"]
    assert first["tokens"] == {"passage": [["passage", "[CLS]"], ["passage", 0, 3], ["passage", 4, 7]]}
    assert first["maps"] == {"passage_scores": [[0.0, 0.5, 1.0], [0.0, 0.75, 0.1]], "occlusion": [[0.0, -0.125, 0.5]]}
    assert second["maps"] == {"passage_scores": [[0.0, 0.3, 0.3], [0.0, 0.2, 0.2]]}
    assert data["questions"][0]["readings"][1]["sequences"][0]["maps"] == {}


def test_agreement_is_listed_by_level(page, parse_page):
    rows = parse_page(page).rows
    assert ["poi_nett1", "passage scoresturn 1", "0.50", "2"] in rows
    assert ["poi_nett1", "passage scoresturn 2", "–", "0"] in rows


@pytest.mark.slow
def test_the_first_question_is_shown_with_both_readers(open_in_browser, page):
    document = without_scripts(open_in_browser(page))
    assert '<h2 id="asked">Who?</h2>' in document
    assert shades(document) == {"[CLS]: 0": 0, "red: 0.5": 30, "sun: 1": 60}
    assert '<span class="unread"> not read</span>' in document
    assert "75.0 %" in document
    assert "right answer" in document
    assert "turn 1 of 2" in document
    assert "This reader has no attention maps." in document
    assert "Agreement with occlusion: \u22120.25 here, 0.50 on average over 2 questions." in document
    assert "Highest: sun 1, red 0.5" in document


@pytest.mark.slow
def test_another_turn_changes_the_shades(open_in_browser, page):
    script = "at('level-0').value = 2; at('level-0').dispatchEvent(new Event('input'));"
    document = open_in_browser(with_script(page, script))
    assert shades(document) == {"[CLS]: 0": 0, "red: 0.75": 45, "sun: 0.1": 6}
    assert "turn 2 of 2" in document
    assert "cannot be told here" in document


@pytest.mark.slow
def test_another_map_and_a_click_on_a_token(open_in_browser, page):
    script = "at('map-0-occlusion').click(); document.querySelectorAll('.token')[1].click();"
    document = without_scripts(open_in_browser(with_script(page, script)))
    assert shades(document) == {"[CLS]: 0": 0, "red: \u22120.125": 15, "sun: 0.5": 60}
    assert "--hue: var(--warm)" in document
    assert re.search(r"<output[^>]*>red: \u22120.125</output>", document)


@pytest.mark.slow
def test_another_option_changes_the_shades(open_in_browser, page):
    script = "at('sequence-0').value = 1; at('sequence-0').dispatchEvent(new Event('change'));"
    document = open_in_browser(with_script(page, script))
    assert shades(document) == {"[CLS]: 0": 0, "red: 0.3": 18, "sun: 0.3": 18}


@pytest.mark.slow
def test_options_in_windows_are_named_with_their_part_of_the_passage(open_in_browser, readings):
    reading = readings["questions"][0]["readings"][1]
    windowed = reading | {"sequence": 3, "sequences": 2 * reading["sequences"]}
    question = readings["questions"][0] | {"readings": [readings["questions"][0]["readings"][0], windowed]}
    page = render_html(readings | {"questions": [question]}, ATTENTION.empty_table())
    document = without_scripts(open_in_browser(page))
    names = re.findall(r"<option[^>]*>([^<]*)</option>", document)
    expected = ["a (chosen)", "b", "a, part 1", "b, part 1", "a, part 2", "b, part 2 (chosen)"]
    assert [name for name in names if name in expected] == expected


@pytest.mark.slow
def test_another_question_is_shown_and_its_text_is_escaped(open_in_browser, page):
    document = without_scripts(open_in_browser(with_script(page, "at('next').click();")))
    assert '<h2 id="asked">&lt;/script&gt;&lt;script&gt;alert(1)' in document
    assert shades(document) == {"[CLS]: 0": 0, "red: 0.9": 54, "sun: 0.8": 48}
    assert "87.5 %" in document
    assert "75.0 %" not in document
    assert "<b>" not in document


@pytest.mark.slow
def test_all_numbers_are_listed_as_text(open_in_browser, page):
    script = "document.querySelector('#reader-0 details').open = true;"
    document = without_scripts(open_in_browser(with_script(page, script)))
    assert re.search(r'<th scope="row">sun</th><td class="number">1</td>', document)


@pytest.mark.slow
@pytest.mark.parametrize("gold_known", [True, False])
def test_spans_show_the_gold_and_the_predicted_one(open_in_browser, gold_known):
    reading = option_reading(0, [0.5, 0.5]) | {
        "prediction": "sun",
        "label": None,
        "correct": False,
        "probabilities": None,
        "spans": [{"start": 4, "end": 7, "probability": 0.5}],
        "nothing": 0.25,
        "sequences": [{"texts": ["Which?"]}],
    }
    question = {
        "question_id": "q1",
        "split": "dev",
        "subset": "s",
        "question": "Which?",
        "options": None,
        "label": None,
    }
    question |= {"answerable": True, "passage": "red sun", "readings": [reading]}
    question["answers"] = [{"text": "red", "start": 0}] if gold_known else None
    readings = {"benchmark": "sample", "title": "Sample", "task": "span", "occlusion": False, "questions": [question]}
    readings["readers"] = [reader_record("t1", "plain", {"start": SHARE, "end": SHARE}, {})]
    maps = attention_table(
        map_rows("q1", "t1", "start", 0, [0.25, 0.25, 0.5]), map_rows("q1", "t1", "end", 0, [0.2, 0.0, 0.8])
    )
    document = without_scripts(open_in_browser(render_html(readings, maps)))
    assert re.search(r'class="token chosen"[^>]*>sun', document)
    assert "This reader has no attention maps." in document
    assert "All together 1." in document
    assert "25.0 %" in document
    assert bool(re.search(r'class="token gold"[^>]*>red', document)) == gold_known
    assert bool(re.search(r'class="wrong"[^>]*>wrong', document)) == gold_known
    assert ("right answer not known" in document) == (not gold_known)


def test_without_a_reader_there_is_nothing_to_show():
    readings = {"benchmark": "sample", "title": "Sample", "readers": [], "questions": []}
    assert "no finished trial to look with" in render_html(readings, ATTENTION.empty_table())
