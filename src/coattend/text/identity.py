"""A text's name is its content."""

import hashlib


def text_id(text: str) -> str:
    """The first 24 hexadecimal digits of the SHA-256 of the text.

    Args:
        text: Any text; lone surrogates are allowed.

    Returns:
        A name that two texts share only if they are equal.
    """
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()[:24]
