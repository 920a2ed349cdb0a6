"""A hash of a file in its last line, as a comment: whether somebody changed the file since (decision 11)."""

from hashlib import sha256

HTML_COMMENT = b"<!-- sizing.content %s -->\n"
PDF_COMMENT = b"%% sizing.content %s\n"
_DIGITS = 64


def sealed(content: bytes, comment: bytes = HTML_COMMENT) -> bytes:
    """The file: its content and a last line with the hash of it; `content` ends with a line end."""
    return content + comment % sha256(content).hexdigest().encode()


def is_untouched(content: bytes, comment: bytes = HTML_COMMENT) -> bool:
    """Whether a file still has the hash that stands in its last line."""
    length = len(comment % (b"0" * _DIGITS))
    return len(content) > length and sealed(content[:-length], comment) == content
