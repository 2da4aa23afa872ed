"""NLTK data that a test can write itself."""

import json
from pathlib import Path

WEIGHTS = {
    "bias": {"NN": 0.1, "DT": 0.1},
    "i suffix ing": {"VBG": 2.0},
    "i word the": {"DT": 3.5},
    "i-1 tag DT": {"NN": 1.25, "VBG": -1.5},
    "i tag+i-2 tag -START- -START2-": {"UH": 0.05},
    "i word .": {".": 5.0},
    "i word ''": {"''": 5.0},
    "i word ``": {"``": 5.0},
    "i pref1 W": {"NNP": 2.0},
}
CLASSES = ["NN", "DT", "VBG", "UH", ".", "''", "``", "NNP", "VBZ"]


def write_nltk_data(root: Path) -> Path:
    """A whole, tiny copy of the two packages of NLTK data."""
    punkt, tagger = root / "tokenizers/punkt_tab/english", root / "taggers/averaged_perceptron_tagger_eng"
    punkt.mkdir(parents=True)
    tagger.mkdir(parents=True)
    (punkt / "abbrev_types.txt").write_text("dr\n")
    for name in ("collocations.tab", "sent_starters.txt", "ortho_context.tab"):
        (punkt / name).write_text("")
    for part, content in (("weights", WEIGHTS), ("tagdict", {"is": "VBZ"}), ("classes", CLASSES)):
        (tagger / f"averaged_perceptron_tagger_eng.{part}.json").write_text(json.dumps(content))
    return root
