"""The page of a study and the page of all in a real browser: charts are drawn, and nothing is wider than a phone."""

import html
import re

import pytest
from example_study import report, study

from coattend.reports.render import html_page
from coattend.reports.study.page import overview_sections

pytestmark = pytest.mark.slow

SHOWS = (
    "by_subset",
    "by_question_type",
    "by_answer_pos",
    "ensemble",
    "curve",
    "average",
    "boundary_pos",
    "peak_memory",
)
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
    curve = [
        {"step": step, "epoch": 1.0, "loss": 1.0 / step, "held_out": 0.4, "held_out_loss": 1.2} for step in (5, 10)
    ]
    findings, study_page, *_ = report(study(*SHOWS, cited=CITED), curve=curve)
    return (
        study_page if request.param == "a study" else html_page("Results", overview_sections({"mine_turns": findings}))
    )


def test_all_charts_are_drawn(open_in_browser, page):
    document = re.sub(r"<script.*?</script>", "", open_in_browser(page), flags=re.DOTALL)
    captions = document.count("<figcaption")
    assert captions >= 6
    assert document.count('class="main-svg"') >= captions
    assert "Someone's reader" in html.unescape(document)


def test_nothing_is_wider_than_a_phone(open_in_browser, page):
    document = open_in_browser(PHONE.format(page=html.escape(page)))
    available, needed = map(int, re.search(r'data-widths="(\d+) (\d+)"', document).groups())
    assert 300 < available <= 390
    assert needed <= available
