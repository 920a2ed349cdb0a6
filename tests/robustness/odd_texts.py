"""YAML texts that are nearly right: mutations of files that are, and files made to exhaust a reader."""

import re
from collections.abc import Callable
from random import Random

from tests.robustness.odd_values import BAD_TEXTS, scalar

_VALUE = re.compile(r"(?<=: )[^\s,{}\[\]#][^,{}\[\]#\n]*")
_KEY = re.compile(r"[A-Za-z_][\w-]*(?=:)")
_SEPARATORS = (
    "\t",
    " ",
    "  ",
    ":",
    ": ",
    ",",
    "{",
    "}",
    "[",
    "]",
    "- ",
    "#",
    "|",
    ">",
    "&a ",
    "*a",
    "!!str ",
    "<<: *a",
)
_HEAD = "name: x\nclasses: "
_ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1")


def mutated(text: str, random: Random) -> bytes:
    """A file with one to four mistakes of a kind that people and programs make, at times in another encoding."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
        text = random.choice(_MUTATIONS)(text, random)
    if random.random() < 0.06:
        return text.encode(random.choice(_ENCODINGS), errors="replace")
    content = text.encode("utf-8", errors="surrogatepass")
    if random.random() < 0.04 and content:
        at = random.randrange(len(content))
        content = content[:at] + bytes((random.randrange(256),)) + content[at + random.randrange(2) :]
    return content


def _value_replaced(text: str, random: Random) -> str:
    return _replaced(_VALUE, text, random, scalar(random))


def _value_quoted(text: str, random: Random) -> str:
    bad = random.choice(BAD_TEXTS)
    escaped = "".join(
        character if character.isprintable() and character not in '"\\' else f"\\U{ord(character):08x}"
        for character in bad
    )
    return _replaced(_VALUE, text, random, f'"{escaped}"')


def _value_in_container(text: str, random: Random) -> str:
    found = _pick(_VALUE, text, random)
    if found is None:
        return text
    form = random.choice(("[{}]", "[{0}, {0}]", "{{a: {}}}", "{{value: {}}}", "[[[{}]]]", "&x {}", "!!int {}", "{},5"))
    return text[: found.start()] + form.format(found.group()) + text[found.end() :]


def _values_swapped(text: str, random: Random) -> str:
    one, other = _pick(_VALUE, text, random), _pick(_VALUE, text, random)
    if one is None or other is None or one.start() >= other.start():
        return text
    return text[: one.start()] + other.group() + text[one.end() : other.start()] + one.group() + text[other.end() :]


def _key_replaced(text: str, random: Random) -> str:
    found = _pick(_KEY, text, random)
    if found is None:
        return text
    key = found.group()
    others = (key + "s", key[1:], key.upper(), key.replace("_", "-"), "<<", "1", "null", f'"{key} "', scalar(random))
    return text[: found.start()] + random.choice(others) + text[found.end() :]


def _line_deleted(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        del lines[random.randrange(len(lines))]
    return "".join(lines)


def _line_repeated(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        lines.insert(random.randrange(len(lines) + 1), random.choice(lines))
    return "".join(lines)


def _indentation_changed(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        at = random.randrange(len(lines))
        lines[at] = random.choice(("  ", " ", "\t", "", "    ")) + random.choice((lines[at].lstrip(" "), lines[at]))
    return "".join(lines)


def _inserted(text: str, random: Random) -> str:
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice((*_SEPARATORS, scalar(random))) + text[at:]


def _cut(text: str, random: Random) -> str:
    one, other = sorted((random.randrange(len(text) + 1), random.randrange(len(text) + 1)))
    return random.choice((text[:one], text[one:], text[:one] + text[other:]))


def _line_ends(text: str, random: Random) -> str:
    return text.replace("\n", random.choice(("\r\n", "\r", "\n\n", "\u0085", "\u2028")))


def _with_anchor(text: str, random: Random) -> str:
    found = _pick(_VALUE, text, random)
    if found is None:
        return text
    return _replaced(_VALUE, text[: found.start()] + "&a " + text[found.start() :], random, "*a")


def _second_document(text: str, random: Random) -> str:
    return random.choice(
        (f"---\n{text}", f"{text}---\n", f"{text}...\n", f"{text}\n---\n{text}", f"%YAML 1.1\n---\n{text}")
    )


def _twice(text: str, random: Random) -> str:
    return text + text


_MUTATIONS: tuple[Callable[[str, Random], str], ...] = (
    *(_value_replaced,) * 6,
    *(_value_quoted,) * 2,
    *(_value_in_container,) * 2,
    *(_values_swapped,) * 2,
    *(_key_replaced,) * 2,
    *(_line_deleted, _line_repeated, _indentation_changed, _inserted, _cut, _with_anchor),
    *(_line_ends, _second_document, _twice),
)


def _pick(pattern: re.Pattern[str], text: str, random: Random) -> re.Match[str] | None:
    found = list(pattern.finditer(text))
    return random.choice(found) if found else None


def _replaced(pattern: re.Pattern[str], text: str, random: Random, by: str) -> str:
    found = _pick(pattern, text, random)
    return text if found is None else text[: found.start()] + by + text[found.end() :]


def hostile(random: Random) -> bytes:
    """A small file that asks for more than its size: aliases of aliases, deep nesting, endless scalars and keys."""
    size = random.choice((3, 30, 70, 70, 1_000, 1_000, 1_000, random.choice((5_000, 20_000))))
    return random.choice(_HOSTILE)(size).encode()


def _aliases(size: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, min(size, 60))]
    return "\n".join(lines)


_HOSTILE: tuple[Callable[[int], str], ...] = (
    _aliases,
    lambda size: _HEAD + "[" * size + "]" * size,
    lambda size: _HEAD + "{a: " * size + "}" * size,
    lambda size: _HEAD + "- " * size,
    lambda size: _HEAD + "\n" + "".join(f"{' ' * level}a:\n" for level in range(min(size, 1_500))),
    lambda size: _HEAD + "[&a [*a]]" + str(size),
    lambda size: _HEAD + "&a {b: &b [*b], c: *a}" + " " * size,
    lambda size: _HEAD + "1" * size * 20,
    lambda size: _HEAD + "'" + "x\n\n" * size + "'",
    lambda size: _HEAD + "[" + ",".join("{}" for _ in range(size)) + "]",
    lambda size: _HEAD + "[" + ",".join("{name: a, model: b, context: c, concurrency: d}" for _ in range(size)) + "]",
    lambda size: "\n".join(f"key{number}: 1" for number in range(size)),
    lambda size: "\n".join("same: 1" for _ in range(size)),
    lambda size: f"? {'k' * size}\n: x\n",
    lambda size: f"{'k' * size}: x\n",
    lambda size: "? " * min(size, 3_000) + "x",
    lambda size: "? [" * min(size, 1_000) + "x" + "]" * min(size, 1_000) + ": y",
    lambda size: "#" * size + "\n",
    lambda size: "\n" * size,
    lambda size: "---\n" * size,
    lambda size: "&a " * min(size, 100) + "x",
    lambda size: "!" * size,
    lambda size: '"' + "\\" * size,
    lambda size: _HEAD + "|\n" + " x" * size,
    lambda size: "%TAG ! tag:x,2000:\n" * min(size, 50) + "---\n!a b",
    lambda size: _HEAD + "*" + "a" * size,
    lambda size: f"<<: [{', '.join(['{a: b}'] * size)}]",
)
