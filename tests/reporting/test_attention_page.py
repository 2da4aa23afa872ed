"""The attention page in a real browser: what is chosen is what is shown, and hostile text stays text."""

import re

import pyarrow as pa
import pytest

from coattend.reporting.attention_page import render
from coattend.tables import ATTENTION

HOSTILE = "</script><script>alert(1)</script> | <b>*x*</b>"
TURNS = {"on": "passage", "by": None, "level": "turn", "levels": 2, "kind": "score"}
DROP = {"on": "passage", "by": None, "level": None, "levels": 1, "kind": "drop"}
SHARE = {"on": "passage", "by": None, "level": None, "levels": 1, "kind": "share"}


def row(question, trial, sequence, name, token, place, values):
    text, start, end = place
    told = {"question_id": question, "trial_id": trial, "sequence": sequence, "map": name, "domain": "passage"}
    return told | {"token": token, "text": text, "start": start, "end": end, "values": values}


def maps_of(question, trial, name, sequence, *levels):
    places = [("[CLS]", None, None), ("red", 0, 3), ("sun", 4, 7)]
    numbers = zip(*levels, strict=True)
    pairs = enumerate(zip(places, numbers, strict=True))
    return [row(question, trial, sequence, name, token, place, list(one)) for token, (place, one) in pairs]


def answered(label, probabilities, agreement=None):
    texts = [{"texts": ["Who?", option]} for option in ("a", "b")]
    told = {"prediction": "ab"[label], "label": label, "correct": label == 0, "f1": float(label == 0)}
    told |= {"sequence": label, "probabilities": probabilities, "spans": None, "nothing": None}
    return told | {"probability": probabilities[label], "agreement": agreement or {}, "sequences": texts}


def reader(trial, name, legend, agreement):
    told = {"trial_id": trial, "reader": name, "head": "options", "seed": 0, "encoder": "embedded"}
    return told | {"options": {"note": HOSTILE}, "legend": legend, "agreement": agreement}


@pytest.fixture(scope="session")
def page():
    mean = {"passage_scores": [{"mean": 0.5, "questions": 2}, {"mean": None, "questions": 0}]}
    one = {"split": "dev", "subset": None, "options": ["a", "b"], "label": 0, "answers": None, "answerable": True}
    agreed = {"passage_scores": [-0.25, None]}
    first = [answered(0, [0.75, 0.25], agreed), answered(1, [0.4, 0.6])]
    second = [answered(1, [0.125, 0.875], agreed), answered(1, [0.3, 0.7])]
    readings = {
        "benchmark": "sample",
        "title": "Sample",
        "task": "options",
        "occlusion": True,
        "readers": [
            reader("t1", "poi_net", {"passage_scores": TURNS, "occlusion": DROP}, mean),
            reader("t2", "plain", {}, {}),
        ],
        "questions": [
            one | {"question_id": "q1", "question": "Who?", "passage": "red sun not read", "readings": first},
            one | {"question_id": "q2", "question": HOSTILE, "passage": "red sun " + HOSTILE, "readings": second},
        ],
    }
    rows = [
        *maps_of("q1", "t1", "passage_scores", 0, [0.0, 0.5, 1.0], [0.0, 0.75, 0.1]),
        *maps_of("q1", "t1", "passage_scores", 1, [0.0, 0.3, 0.3], [0.0, 0.2, 0.2]),
        *maps_of("q1", "t1", "occlusion", 0, [0.0, -0.125, 0.5]),
        *maps_of("q2", "t1", "passage_scores", 1, [0.0, 0.9, 0.8], [0.0, 0.7, 0.6]),
    ]
    return render(readings, pa.Table.from_pylist(rows, schema=ATTENTION))


def after(page, script):
    """The page, with somebody at its controls."""
    return page.replace(
        "</body>", f"<script>{{ const at = (id) => document.getElementById(id); {script} }}</script></body>"
    )


def without_scripts(dom):
    return re.sub(r"<script.*?</script>", "", dom, flags=re.DOTALL)


def shaded(dom):
    """Tokens with their numbers and how dark they are."""
    found = re.findall(r'<span class="token[^"]*"[^>]*?style="([^"]*)"[^>]*?title="([^"]*)"', without_scripts(dom))
    found += [(b, a) for a, b in re.findall(r'<span class="token[^"]*" title="([^"]*)" style="([^"]*)"', dom)]
    return {title: float(re.search(r"--share: ?([\d.]+)%", style).group(1)) for style, title in found}


def test_it_loads_nothing(page):
    assert "http" not in re.sub(r"<meta[^>]*>", "", page)
    assert "<b>*x*</b>" not in page


@pytest.mark.slow
def test_the_first_question_is_shown_with_both_readers(in_browser, page):
    shown = without_scripts(in_browser(page))
    assert '<h2 id="asked">Who?</h2>' in shown
    assert shaded(shown) == {"[CLS]: 0": 0, "red: 0.5": 30, "sun: 1": 60}
    assert '<span class="unread"> not read</span>' in shown
    assert "75.0 %" in shown
    assert "right answer" in shown
    assert "turn 1 of 2" in shown
    assert "This reader has no attention maps." in shown
    assert "Agreement with occlusion: \u22120.25 here, 0.50 on average over 2 questions." in shown
    assert "Highest: sun 1, red 0.5" in shown


@pytest.mark.slow
def test_another_turn_changes_the_shades(in_browser, page):
    shown = in_browser(after(page, "at('level-0').value = 2; at('level-0').dispatchEvent(new Event('input'));"))
    assert shaded(shown) == {"[CLS]: 0": 0, "red: 0.75": 45, "sun: 0.1": 6}
    assert "turn 2 of 2" in shown
    assert "cannot be told here" in shown


@pytest.mark.slow
def test_another_map_another_option_and_a_touch(in_browser, page):
    shown = without_scripts(
        in_browser(after(page, "at('map-0-occlusion').click(); document.querySelectorAll('.token')[1].click();"))
    )
    assert shaded(shown) == {"[CLS]: 0": 0, "red: \u22120.125": 15, "sun: 0.5": 60}
    assert "--hue: var(--warm)" in shown
    assert re.search(r"<output[^>]*>red: \u22120.125</output>", shown)
    shown = in_browser(after(page, "at('sequence-0').value = 1; at('sequence-0').dispatchEvent(new Event('change'));"))
    assert shaded(shown) == {"[CLS]: 0": 0, "red: 0.3": 18, "sun: 0.3": 18}


@pytest.mark.slow
def test_another_question_is_shown_and_what_it_says_stays_text(in_browser, page):
    shown = without_scripts(in_browser(after(page, "at('next').click();")))
    assert '<h2 id="asked">&lt;/script&gt;&lt;script&gt;alert(1)' in shown
    assert shaded(shown) == {"[CLS]: 0": 0, "red: 0.9": 54, "sun: 0.8": 48}
    assert "87.5 %" in shown
    assert "75.0 %" not in shown
    assert "<b>" not in shown


@pytest.mark.slow
def test_all_numbers_are_there_as_text(in_browser, page):
    script = "const one = document.querySelector('#reader-0 details'); one.open = true;"
    shown = without_scripts(in_browser(after(page, script)))
    assert re.search(r'<th scope="row">sun</th><td class="number">1</td>', shown)


@pytest.mark.slow
def test_spans_show_what_is_right_and_what_was_chosen(in_browser):
    spans = [{"start": 4, "end": 7, "probability": 0.5}]
    told = {"prediction": "sun", "label": None, "correct": False, "f1": 0.0, "sequence": 0, "probabilities": None}
    told |= {"spans": spans, "nothing": 0.25, "probability": 0.5, "agreement": {}, "sequences": [{"texts": ["Which?"]}]}
    asked = {"question_id": "q1", "split": "dev", "subset": "s", "question": "Which?", "options": None, "label": None}
    asked |= {"answers": [{"text": "red", "start": 0}], "answerable": True, "passage": "red sun", "readings": [told]}
    readings = {"benchmark": "sample", "title": "Sample", "task": "span", "occlusion": False, "questions": [asked]}
    readings["readers"] = [reader("t1", "plain", {"start": SHARE, "end": SHARE}, {})]
    rows = [*maps_of("q1", "t1", "start", 0, [0.25, 0.25, 0.5]), *maps_of("q1", "t1", "end", 0, [0.2, 0.0, 0.8])]
    shown = without_scripts(in_browser(render(readings, pa.Table.from_pylist(rows, schema=ATTENTION))))
    assert re.search(r'class="token gold"[^>]*>red', shown)
    assert re.search(r'class="token chosen"[^>]*>sun', shown)
    assert "This reader has no attention maps." in shown
    assert "All together 1." in shown
    assert "25.0 %" in shown
    assert re.search(r'class="wrong"[^>]*>wrong', shown)
    asked["answers"] = None
    shown = without_scripts(in_browser(render(readings, pa.Table.from_pylist(rows, schema=ATTENTION))))
    assert "right answer not known" in shown
    assert 'class="wrong"' not in shown


def test_without_a_reader_it_says_that_there_is_nothing_to_look_at():
    readings = {"benchmark": "sample", "title": "Sample", "readers": [], "questions": []}
    assert "no finished trial to look with" in render(readings, ATTENTION.empty_table())
