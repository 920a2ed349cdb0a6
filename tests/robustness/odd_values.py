"""Values and texts that no program likes, for generators of odd inputs."""

from random import Random
from typing import Any

LONG = "x" * 3_000
BAD_TEXTS = (
    "",
    " ",
    "~",
    "null",
    "yes",
    "no",
    "on",
    "true",
    "007",
    "0x1F",
    "0o17",
    "1e3",
    "1E400",
    "-1",
    "+5",
    "1_0",
    "1__000",
    "1_000",
    "1,5",
    "1.000.000",
    ".5",
    "5.",
    "NaN",
    ".nan",
    "-.inf",
    "inf",
    "1" * 5_000,
    "9" * 400,
    "1/0",
    "2026-11-29",
    "12:30:45",
    "=1+1",
    '=HYPERLINK("http://example.invalid","x")',
    "@SUM(A1)",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "../../etc/passwd",
    "/dev/zero",
    "/dev/null",
    "C:\\x.json",
    "~nobody/config.json",
    "./",
    ".json",
    "a/b.json",
    "con\tfig",
    "two\nlines",
    "nul\0byte",
    "bell\a",
    "\x1b[31mred\x1b[0m",
    "\u202eright to left",
    "\ud800",
    "\ufeffname",
    "\u2028",
    "Ä 東京 🙂",
    "e\u0301" * 60,
    "\uff11\uff12\uff13",
    "٣",
    "5\u00a0MW",
    "<script>alert(1)</script>",
    "{{7*7}}",
    "%s%n%x",
    "${HOME}",
    "[link](javascript:x)",
    "*alias",
    "&anchor",
    "!!python/object/apply:os.system [x]",
    "<<",
    "? x",
    "- x",
    "{a: b",
    "[",
    '"',
    "'",
    "#",
    "%YAML 1.1",
    "---",
    "...",
    LONG,
)
NEARLY_NUMBERS = (
    *("0", "1", "2", "7", "4096", "128k", "1M", "4.5k", "0.1", "10 %", "99.9 %", "100 %", "1000 %", "0 %", "1", "1.0"),
    *("5 MW", "0 kW", "800 kW", "0.000001 W", "999 GW", "1e3 kW", "5 mw", "5", "141 GB", "0 USD", "415_000 USD"),
    *("[1 USD, 2 USD]", "0.08 USD/kWh", "4 years", "1.15", "1000000", "999999999", "1000000000", "999999999999999"),
    *("1000000000000000", "1k", "1.5k", "1.0001k", "0k", "0.5M", "1000M", "64 kB"),
)


def scalar(random: Random) -> str:
    """A text for any place of a YAML file, plausible or hostile."""
    return random.choice(random.choice((BAD_TEXTS, NEARLY_NUMBERS, NEARLY_NUMBERS)))


def python_value(random: Random, depth: int = 0) -> Any:
    """What a caller from Python may put in the place of a value."""
    kind = random.randrange(14 if depth < 3 else 11)
    if kind < 5:
        return scalar(random)
    if kind == 5:
        return random.choice((float("nan"), float("inf"), -0.0, 0.1, 1e-300, 1e300, 4096.0, -1.5))
    if kind == 6:
        return random.choice((0, 1, 4096, -1, 2**63, 10**14, 10**15, 10**30, 10**5000))
    if kind == 7:
        return random.choice((None, True, False))
    if kind == 8:
        return random.choice((b"bytes", object(), {1, 2}, frozenset(), 1j, range(3), Ellipsis, int))
    if kind == 9:
        return random.choice(({}, [], (), ""))
    if kind == 10:
        return nested(random.choice((10, 70, 200)))
    if kind == 11:
        return [python_value(random, depth + 1) for _ in range(random.randrange(4))]
    keys = (scalar(random), random.choice((1, None, True, 2.5, (1, 2), "name")))
    return {key: python_value(random, depth + 1) for key in keys}


def nested(depth: int) -> Any:
    """A list in a list, `depth` times."""
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value
