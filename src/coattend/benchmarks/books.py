"""The prose of plain-text books, without what Project Gutenberg adds to them."""

import re

_BEGINS = re.compile(r"^(?:\*\*\* ?START OF .*|.*\*END\*.*)$", re.MULTILINE)
_ENDS = re.compile(r"^(?:\*\*\* ?END OF |.{0,3}End of (?:the |this )?Project Gutenberg)", re.MULTILINE | re.IGNORECASE)
_PICTURE = re.compile(r"\[(?:Illustration|Transcriber)[^\]]*\]")
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*$")
_PLAIN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "_": None, "\ufeff": None})


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a book in order, each on one line.

    Headings, tables of contents, verses' single lines and credits are left out: what does not end like a sentence, or
    has more capitals than small letters. Quotation marks become plain ones, and underscores, which mark italics, go.

    Args:
        text: A whole file; Project Gutenberg's header and licence are cut off where there are any.
    """
    lines = text.replace("\r\n", "\n").translate(_PLAIN)
    blocks = re.split(r"\n\s*\n", _PICTURE.sub("", _body(lines)))
    joined = (" ".join(block.split()) for block in blocks)
    return [block for block in joined if _is_prose(block)]


def _body(text: str) -> str:
    # The old header's last line may come after a line that looks like the new header's.
    begins = [match.end() for match in _BEGINS.finditer(text, 0, len(text) // 2)]
    text = text[begins[-1] :] if begins else text
    end = _ENDS.search(text)
    return text[: end.start()] if end else text


def _is_prose(block: str) -> bool:
    small = sum(letter.islower() for letter in block)
    capitals = sum(letter.isupper() for letter in block)
    return small > capitals and _SENTENCE_END.search(block) is not None
