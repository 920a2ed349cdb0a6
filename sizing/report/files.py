"""Files as a command leaves them: written whole or not at all, and nothing of a user's overwritten unasked."""

import os
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryFile

from sizing.units.errors import BadInput, Problem


def write_file(path: Path, content: bytes, is_own: Callable[[bytes], bool], force: bool = False) -> None:
    """A file of a format. An existing one is replaced only if the tool wrote it and nobody changed it, or with `force`.

    `is_own` tells that from its bytes. Raises BadInput where a file or folder is in the way or the folder cannot be
    written (decision 11).
    """
    check_place(path, is_own, force)
    _write(path, content)


def check_place(path: Path, is_own: Callable[[bytes], bool], force: bool = False) -> None:
    """Raise BadInput where `write_file` would refuse: asked before a long search rather than after it."""
    _check_place(path, force, is_own, "was changed since it was written, or is none that sizing wrote")


def write_document(path: Path, text: str, force: bool = False) -> None:
    """A JSON document. An existing file is replaced only if it is a document of the tool, or with `force`."""
    check_document_place(path, force)
    _write(path, text.encode())


def check_document_place(path: Path, force: bool = False) -> None:
    """Raise BadInput where `write_document` would refuse."""
    _check_place(path, force, _is_document, "is no document of sizing")


def write_new(path: Path, text: str, force: bool = False) -> None:
    """Text for a user to go on with: a file that is there is never replaced, but with `force`."""
    check_new_place(path, force)
    _write(path, text.encode())


def check_new_place(path: Path, force: bool = False) -> None:
    """Raise BadInput where `write_new` would refuse."""
    _check_place(path, force, lambda _content: False, "is there already")


def _is_document(content: bytes) -> bool:
    import json

    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return False
    documents = found if isinstance(found, list) and found else [found]
    return all(
        isinstance(document, dict) and str(document.get("schema", "")).startswith("sizing.") for document in documents
    )


def _check_place(path: Path, force: bool, is_own: Callable[[bytes], bool], otherwise: str) -> None:
    target = Path(os.path.realpath(path))
    try:
        if not target.exists():
            _check_folder(path, target.parent)
            return
        if target.is_dir():
            raise _refused(path, "a folder is in the way", "the name of a file")
        if not target.is_file():
            raise _refused(path, "is no regular file", "the name of a file")
        if not force and not is_own(target.read_bytes()):
            raise _refused(path, f"this file {otherwise}; it is not overwritten", "another name, or --force")
        _check_folder(path, target.parent)
    except OSError as error:
        raise _unwritable(path, error) from error


def _check_folder(path: Path, folder: Path) -> None:
    """The nearest folder above that exists must be one, and writable; the rest is created on writing."""
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not existing.is_dir():
        raise _refused(path, f"{existing} is a file, not a folder", "a folder that can be created")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise _refused(path, f"the folder {existing} cannot be written", "a folder with write permission")
    with TemporaryFile(dir=existing):  # what permissions allow, a file system or a quota may not
        pass


def _write(path: Path, content: bytes) -> None:
    """Into a temporary file beside the target, forced to disk, then renamed over it."""
    target = Path(os.path.realpath(path))
    temporary = target.parent / f".sizing-{token_hex(8)}.tmp"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error


def _refused(path: Path, what: str, accepted: str) -> BadInput:
    return BadInput(Problem(what, file=str(path), accepted=accepted))


def _unwritable(path: Path, error: OSError) -> BadInput:
    reason = error.strerror or type(error).__name__
    return BadInput(Problem(f"cannot be written: {reason}", file=str(path), accepted="a folder with write permission"))
