"""The page of a study and that of all of them in a real browser: charts are drawn, and a phone shows all of it."""

import html
import re

import pytest
from studied import STUDY, found

from coattend.parameters import StudyParameters
from coattend.reporting import html_page, results_page

pytestmark = pytest.mark.slow

SHOWN = ["by_subset", "by_question_type", "by_answer_pos", "ensemble", "curve"]
CITED = [{"name": "Someone's reader", "source": "Somebody 2020", "numbers": {"exams": {"dev": 70.1}}}]
PHONE = """
<!doctype html><iframe style="width: 390px; height: 800px" srcdoc="{page}"></iframe>
<script>
onload = () => setTimeout(() => {{
  const inside = document.querySelector("iframe").contentDocument.documentElement;
  document.body.dataset.widths = `${{inside.clientWidth}} ${{inside.scrollWidth}}`;
}}, 1000);
</script>
"""


@pytest.fixture(scope="module", params=["a study", "all studies"])
def page(request):
    about = StudyParameters.model_validate(STUDY.model_dump() | {"shows": SHOWN, "cited": CITED})
    points = [
        {"step": step, "epoch": 1.0, "loss": 1.0 / step, "held_out": 0.4, "held_out_loss": 1.2} for step in (5, 10)
    ]
    results, page, _ = found(about, curve=points)
    if request.param == "a study":
        return page
    return html_page.page("Results", results_page.sections({"mine_turns": results}))


def test_all_charts_are_drawn(in_browser, page):
    shown = re.sub(r"<script.*?</script>", "", in_browser(page), flags=re.DOTALL)
    captions = shown.count("<figcaption")
    assert captions >= 6
    assert shown.count('class="main-svg"') >= captions
    assert "Someone's reader" in html.unescape(shown)


def test_nothing_is_wider_than_a_phone(in_browser, page):
    shown = in_browser(PHONE.format(page=html.escape(page)))
    inside, needed = map(int, re.search(r'data-widths="(\d+) (\d+)"', shown).groups())
    assert 300 < inside <= 390
    assert needed <= inside
