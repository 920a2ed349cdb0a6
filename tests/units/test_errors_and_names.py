import pytest

from sizing.units.errors import LONGEST_SHOWN, BadInput, Problem, shown
from sizing.units.names import is_printable, nearest


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
    ("name", "is_so"),
    [
        ("chat", True),
        ("\N{WOMAN}\u200d\N{ROCKET}", True),
        ("\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", True),  # Persian, which needs a non-joiner
        ("ch\u200dat", False),
        ("\N{WOMAN}\u200d", False),
        ("\N{WOMAN}\u200d\u200d\N{ROCKET}", False),
        ("a\u202eb", False),
        ("a\nb", False),
    ],
)
def test_a_joiner_is_printable_where_it_shapes_what_it_stands_between(name: str, is_so: bool) -> None:
    assert is_printable(name) == is_so


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
