"""Part-of-speech tags and their ids."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from coattend.errors import CoattendError, did_you_mean

PAD, SPE, ERR = 0, 1, 2
"""Ids of padding, of the encoder's special tokens, and of every tag that the tagset lacks."""

_PENN = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNP NNPS NNS PDT POS PRP PRP$ "
    "RB RBR RBS RP SYM TO UH VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB"
)
_JIEBA = "a ad an b c d e eng f g h i j k l m mq n nr ns nt nz o p q r s t u v vd vn w x y z"
_PUNCTUATION = "# $ '' ( ) , . : ``"


@dataclass(frozen=True)
class Tagset:
    """Tags in the order of their ids: PAD, SPE, ERR, then those of taggers."""

    names: tuple[str, ...]

    @cached_property
    def _ids(self) -> dict[str, int]:
        # Without PAD and SPE: a tagger's tag of that name would be unknown.
        return {name: tag_id for tag_id, name in enumerate(self.names) if tag_id > ERR}

    def ids(self, tags: Iterable[str]) -> list[int]:
        """Return the id of each tag, ERR if the tagset lacks it."""
        return [self._ids.get(tag, ERR) for tag in tags]

    def __len__(self) -> int:
        return len(self.names)


_TAGSETS = {
    "penn": Tagset(("PAD", "SPE", "ERR", *_PENN.split())),
    "extended": Tagset(("PAD", "SPE", "ERR", *_PENN.split(), *_PUNCTUATION.split())),
    "jieba": Tagset(("PAD", "SPE", "ERR", *_JIEBA.split())),
}


def tagset(name: str) -> Tagset:
    """Return a tagset by name.

    ``penn`` has the 39 entries of POI-Net (section 2.1 and appendix A, table 9), where punctuation is ERR; in
    ``extended``, punctuation has nine tags of its own after them. ``jieba`` has as many entries as ``penn``: the
    classes of Chinese words in jieba's dictionary (those of ICTCLAS), of which w are marks.
    """
    if name not in _TAGSETS:
        raise CoattendError(f"there is no tagset {name!r}", cure=did_you_mean(name, list(_TAGSETS)))
    return _TAGSETS[name]
