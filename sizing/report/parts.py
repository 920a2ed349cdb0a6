"""The parts of a workbook file, put together so that the same parts give the same bytes on any machine.

The file is a zip archive without compression (what a compressor emits depends on its version) and without a clock:
every date is 1 January 1980, the first that the format knows. A hash of all parts is stored in the file itself, as the
custom document property `sizing.content`; a file whose parts still have it was not changed since (decision 11).
"""

import re
from hashlib import sha256
from io import BytesIO
from typing import BinaryIO
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

CONTENT_PROPERTY = "sizing.content"
UNSEALED = "0" * 64
_FIRST_PART = "[Content_Types].xml"
_PROPERTIES_PART = "docProps/custom.xml"
_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_SEAL = re.compile(
    rf'(?<=name="{re.escape(CONTENT_PROPERTY)}")(?P<before>[^/]*?>)(?P<digest>[0-9a-f]{{64}})(?=<)'.encode()
)


def sealed(written: BinaryIO) -> bytes:
    """A workbook as a library wrote it, put together anew with its content hash stored in place of `UNSEALED`."""
    with ZipFile(written) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    ordered = {name: parts[name] for name in sorted(parts, key=lambda name: (name != _FIRST_PART, name))}
    ordered[_PROPERTIES_PART] = _with_seal(ordered[_PROPERTIES_PART], _content_hash(ordered))
    return _archive(ordered)


def is_untouched(content: bytes) -> bool:
    """Whether a file is exactly what the tool wrote, whichever version of it: it still has the hash stored in it."""
    try:
        with ZipFile(BytesIO(content)) as archive:
            if any(part.compress_type != ZIP_STORED for part in archive.infolist()):
                return False
            parts = {name: archive.read(name) for name in archive.namelist()}
    except (BadZipFile, ValueError, EOFError, NotImplementedError):
        return False
    found = _SEAL.search(parts.get(_PROPERTIES_PART, b""))
    if found is None or content != _archive(parts):
        return False
    unsealed = {**parts, _PROPERTIES_PART: _with_seal(parts[_PROPERTIES_PART], UNSEALED)}
    return _content_hash(unsealed) == found["digest"].decode()


def _with_seal(properties: bytes, digest: str) -> bytes:
    sealed, found = _SEAL.subn(lambda match: match["before"] + digest.encode(), properties)
    assert found == 1, "the workbook has no place for its content hash"
    return sealed


def _content_hash(parts: dict[str, bytes]) -> str:
    """SHA-256 over names, sizes and bytes of all parts, in the order of the file."""
    hashed = sha256()
    for name, content in parts.items():
        hashed.update(f"{name}\n{len(content)}\n".encode())
        hashed.update(content)
    return hashed.hexdigest()


def _archive(parts: dict[str, bytes]) -> bytes:
    target = BytesIO()
    with ZipFile(target, "w", ZIP_STORED) as archive:
        for name, content in parts.items():
            entry = ZipInfo(name, _FIRST_DATE)
            entry.create_system = _UNIX
            archive.writestr(entry, content)
    return target.getvalue()
