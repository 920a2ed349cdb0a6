import json
import os
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from openpyxl import load_workbook

from sizing.report.files import check_document_place, check_place, write_document, write_file
from sizing.report.parts import CONTENT_PROPERTY, is_untouched
from sizing.report.workbook import workbook_bytes
from sizing.units.errors import BadInput
from tests.report.report_plans import open_plan, sourced_plan


@pytest.fixture(scope="module")
def first() -> bytes:
    return workbook_bytes(sourced_plan())


@pytest.fixture(scope="module")
def second() -> bytes:
    return workbook_bytes(open_plan())


def resaved(content: bytes) -> bytes:
    """As another program leaves a workbook that somebody edited."""
    book = load_workbook(BytesIO(content))
    book["Proposal"]["B7"] = 99
    target = BytesIO()
    book.save(target)
    return target.getvalue()


def repacked(content: bytes, old: bytes = b"", new: bytes = b"") -> bytes:
    """The same parts, one text replaced, compressed as other tools do."""
    target = BytesIO()
    with ZipFile(BytesIO(content)) as source, ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name in source.namelist():
            archive.writestr(name, source.read(name).replace(old, new))
    return target.getvalue()


def test_the_tool_knows_its_own_file(first: bytes) -> None:
    assert is_untouched(first)
    book: Any = load_workbook(BytesIO(first))
    stored = book.custom_doc_props[CONTENT_PROPERTY].value
    assert len(set(stored)) > 1


def test_any_change_is_seen(first: bytes) -> None:
    assert not is_untouched(resaved(first))
    assert not is_untouched(repacked(first))
    assert not is_untouched(repacked(first, b"Example", b"Exempla"))
    assert not is_untouched(first + b" ")
    assert not is_untouched(first[:-1])
    assert not is_untouched(first.replace(b"Example", b"Exempla"))
    assert not is_untouched(b"")
    assert not is_untouched(b"PK\x03\x04 no archive")


def test_a_workbook_of_ours_is_overwritten(tmp_path: Path, first: bytes, second: bytes) -> None:
    path = tmp_path / "deep" / "reports" / "a.xlsx"
    write_file(path, first, is_untouched)
    write_file(path, second, is_untouched)
    assert path.read_bytes() == second
    assert [file.name for file in path.parent.iterdir()] == ["a.xlsx"]


def test_a_changed_workbook_is_kept_unless_forced(tmp_path: Path, first: bytes, second: bytes) -> None:
    path = tmp_path / "a.xlsx"
    changed = resaved(first)
    path.write_bytes(changed)
    with pytest.raises(BadInput) as refused:
        write_file(path, second, is_untouched)
    assert refused.value.exit_code == 2
    assert str(path) in str(refused.value)
    assert "changed" in str(refused.value)
    assert "--force" in str(refused.value)
    assert path.read_bytes() == changed
    write_file(path, second, is_untouched, force=True)
    assert path.read_bytes() == second


@pytest.mark.parametrize("content", [b"", b"my notes", b"PK\x05\x06" + bytes(18)])
def test_a_file_of_somebody_else_is_kept(tmp_path: Path, first: bytes, content: bytes) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(content)
    with pytest.raises(BadInput, match="--force"):
        check_place(path, is_untouched)
    assert path.read_bytes() == content


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_in_the_way_is_refused_even_by_force(tmp_path: Path, first: bytes, force: bool) -> None:
    path = tmp_path / "a.xlsx"
    path.mkdir()
    with pytest.raises(BadInput, match="a folder is in the way"):
        write_file(path, first, is_untouched, force)
    assert path.is_dir()


def test_a_file_in_place_of_the_folder_is_told_before_anything_is_made(tmp_path: Path, first: bytes) -> None:
    (tmp_path / "reports").write_text("mine")
    with pytest.raises(BadInput, match="is a file, not a folder"):
        check_place(tmp_path / "reports" / "deep" / "a.xlsx", is_untouched)
    with pytest.raises(BadInput):
        write_file(tmp_path / "reports" / "a.xlsx", first, is_untouched)
    assert (tmp_path / "reports").read_text() == "mine"


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
def test_a_pipe_is_never_replaced(tmp_path: Path, first: bytes) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(BadInput, match="no regular file"):
        write_file(path, first, is_untouched, force=True)
    assert path.is_fifo()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not hold for root")
def test_a_folder_without_write_permission_is_told(tmp_path: Path, first: bytes) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    with pytest.raises(BadInput, match="cannot be written"):
        write_file(folder / "a.xlsx", first, is_untouched)


def test_a_file_that_cannot_be_made_is_found_before_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_options: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("sizing.report.files.TemporaryFile", refused)
    with pytest.raises(BadInput, match="Read-only file system"):
        check_place(tmp_path / "new" / "a.xlsx", is_untouched)


def test_a_failed_write_leaves_the_old_file_whole(
    tmp_path: Path, first: bytes, second: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.xlsx"
    write_file(path, first, is_untouched)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadInput, match="No space left on device"):
        write_file(path, second, is_untouched)
    assert path.read_bytes() == first
    assert [file.name for file in tmp_path.iterdir()] == ["a.xlsx"]


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_a_link_stays_a_link(tmp_path: Path, first: bytes) -> None:
    link = tmp_path / "latest.xlsx"
    link.symlink_to(tmp_path / "real.xlsx")
    write_file(link, first, is_untouched)
    assert link.is_symlink()
    assert (tmp_path / "real.xlsx").read_bytes() == first


def test_a_document_of_ours_is_overwritten_and_another_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_document(path, json.dumps({"schema": "sizing.plan/1", "status": "optimal"}))
    write_document(path, json.dumps([{"schema": "sizing.kv/1"}]))
    write_document(path, json.dumps({"schema": "sizing.plan/1"}))
    assert json.loads(path.read_text()) == {"schema": "sizing.plan/1"}


@pytest.mark.parametrize("content", ["name: Example\nclasses: []\n", "{}", "[]", '{"schema": "other"}', "[" * 100_000])
def test_a_document_of_somebody_else_is_kept(tmp_path: Path, content: str) -> None:
    path = tmp_path / "workload.yaml"
    path.write_text(content)
    with pytest.raises(BadInput, match="no document of sizing"):
        check_document_place(path)
    with pytest.raises(BadInput, match="--force"):
        write_document(path, "{}")
    assert path.read_text() == content
