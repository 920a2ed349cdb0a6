"""What stands in the repository: the rooms of the house, pinned versions, and nothing about one machine."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HOUSE = (
    "catalogs",
    "catalogs/models",
    "workloads",
    "reports",
    "sizing/units",
    "sizing/sequence",
    "sizing/pool",
    "sizing/facility",
    "sizing/catalog",
    "sizing/intake",
    "sizing/request",
    "sizing/plan",
    "sizing/program",
    "sizing/advice",
    "sizing/report",
    "sizing/cli",
    "tests",
    "benchmarks",
    "docs",
)
# Bracketed letters keep this file from holding what it looks for.
UNWANTED = {
    "a path of one machine": r"(?<![\w.~])/(?:w[o]rk|f[a]rm|r[o]ot|h[o]me|U[s]ers)/",
    "the address of a registry": r"p[y]pi\.org|python[h]osted|registry\.n[p]mjs|deb\.d[e]bian",
    "how the project is made": r"sub[a]gent|before[-]stop|developer [s]ession",
}


@cache
def tracked() -> tuple[Path, ...]:
    """Files in Git, and those that are neither in it nor ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a Git checkout")
    return tuple(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())


def texts() -> Iterator[tuple[Path, str]]:
    for path in tracked():
        try:
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:  # a picture or a workbook
            continue


@pytest.mark.parametrize("kind", UNWANTED)
def test_files_speak_of_the_project_alone(kind: str) -> None:
    pattern = re.compile(UNWANTED[kind], re.IGNORECASE)
    found = [
        f"{path}:{number}: {line.strip()[:120]}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]
    assert not found, f"{kind} in {found}"


def test_the_search_finds_what_it_should() -> None:
    machine = re.compile(UNWANTED["a path of one machine"], re.IGNORECASE)
    assert machine.search("see " + "/".join(["", "work", "x"]))
    assert not machine.search("network/x, " + "/".join(["tests", "work", "x"]))


@pytest.mark.parametrize("folder", HOUSE)
def test_every_room_of_the_house_exists(folder: str) -> None:
    assert (ROOT / folder).is_dir()


def test_license_is_mit_by_the_authors() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert text.startswith("MIT License")
    assert "2026 the sizing authors" in text


def project_name(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[<>=!~;\[ ]", requirement, maxsplit=1)[0]).lower()


def test_every_dependency_is_pinned_to_one_version() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r'[\w.-]+==[\w.]+(; \w+ (<|==|>=) "[\w.]+")?', pin) for pin in pins)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = [
        *project["project"]["dependencies"],
        *project["dependency-groups"]["dev"],
        *project["build-system"]["requires"],
    ]
    assert {project_name(requirement) for requirement in asked} <= {project_name(pin) for pin in pins}


def test_ci_runs_the_test_command_of_the_readme() -> None:
    commands = (ROOT / ".ci/run").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in ("make solve", "make test"):
        assert command in readme
    assert re.search(r"^make test\b", commands, re.MULTILINE)
