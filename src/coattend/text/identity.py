"""A text's name is its content."""

import hashlib
import re


def text_id(text: str) -> str:
    """The first 24 hexadecimal digits of the SHA-256 of the text.

    Args:
        text: Any text; lone surrogates are allowed.

    Returns:
        A name that two texts share only if they are equal.
    """
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()[:24]


def bare(text: str) -> str:
    """Words in lower case, without punctuation and with one space between: what copies share, however they are set."""
    return re.sub(r"[\W_]+", " ", text.lower()).strip()
