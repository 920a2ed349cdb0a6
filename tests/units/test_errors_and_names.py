import pytest

from sizing.units.errors import LONGEST_SHOWN, BadInput, Problem, shown
from sizing.units.names import nearest


def test_a_problem_says_where_what_and_how_to_mend_it() -> None:
    problem = Problem("unknown key", "site.powr", "w.yaml", 7, "'5 MW'", "power, pods", "power")
    assert str(problem) == (
        "w.yaml:7: site.powr: unknown key (seen: '5 MW'; accepted: power, pods; did you mean 'power'?)"
    )
    assert str(Problem("no such file", file="w.yaml")) == "w.yaml: no such file"


def test_bad_input_tells_all() -> None:
    error = BadInput(Problem("first"), Problem("second", "a.b"))
    assert str(error) == "first\na.b: second"
    assert error.exit_code == 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb\x1b[31m", r"'a\nb\x1b[31m'"),
        (None, "nothing"),
        ({"a": 1}, "a mapping"),
        ([1], "a list"),
        (10**1000, "a whole number of 3322 bits"),
        (0.1, "0.1"),
    ],
)
def test_shown(value: object, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize("value", ["x" * 10**6, object(), "é" * 100])
def test_shown_is_short_and_printable(value: object) -> None:
    assert len(shown(value)) <= LONGEST_SHOWN + 2
    assert shown(value).isprintable()


@pytest.mark.parametrize(
    ("seen", "known", "found"),
    [
        ("hgx-h200", ["hgx-h200-8", "hgx-b300-8"], "hgx-h200-8"),
        ("PODS", ["pods", "power"], "pods"),
        ("xyz", ["pods", "power"], None),
        ("pods", [], None),
        ("p" * 10**6, ["pods"], None),
    ],
)
def test_nearest(seen: str, known: list[str], found: str | None) -> None:
    assert nearest(seen, known) == found
