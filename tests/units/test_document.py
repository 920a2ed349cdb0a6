from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sizing.units import document as document_module
from sizing.units.document import DEEPEST_NESTING, LARGEST_FILE_BYTES, Document, key_path, parse_document, read_document
from sizing.units.errors import BadInput, Problem


def problems(text: str) -> tuple[Problem, ...]:
    with pytest.raises(BadInput) as caught:
        parse_document(text, "w.yaml")
    return caught.value.problems


def only_problem(text: str) -> Problem:
    (problem,) = problems(text)
    return problem


@pytest.fixture(params=["libyaml", "python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every rule holds with the parser of libyaml and with the one in Python."""
    if request.param == "python":
        monkeypatch.setattr(document_module, "_LOADER", yaml.BaseLoader)
    elif not yaml.__with_libyaml__:
        pytest.skip("PyYAML was built without libyaml")
    return str(request.param)


@pytest.mark.usefixtures("parser")
class TestWhatIsRead:
    def test_every_scalar_stays_as_written(self) -> None:
        text = "a: no\nb: 007\nc: 1e3\nd: 2026-11-29\ne: 12:30\nf: 0x1f\ng: 1_000\nh: 'null'\ni: .inf\nj: true\n"
        assert parse_document(text, "f").tree == {
            "a": "no",
            "b": "007",
            "c": "1e3",
            "d": "2026-11-29",
            "e": "12:30",
            "f": "0x1f",
            "g": "1_000",
            "h": "null",
            "i": ".inf",
            "j": "true",
        }

    def test_plain_nulls_are_none(self) -> None:
        assert parse_document("[~, null, Null, NULL, '', nil]", "f").tree == [None, None, None, None, "", "nil"]
        assert parse_document("a:\nb: ''\n", "f").tree == {"a": None, "b": ""}

    def test_byte_order_mark_is_accepted(self) -> None:
        assert parse_document("\ufeffa: 1\n", "f").tree == {"a": "1"}

    def test_line_of_every_value(self) -> None:
        document = parse_document("# comment\na: 1\nb:\n  - c: 2\n    d:\n      e: 3\n  - f\n", "f")
        lines = [("a",), ("b",), ("b", 0), ("b", 0, "c"), ("b", 0, "d", "e"), ("b", 1)]
        assert [document.line(path) for path in lines] == [2, 3, 4, 4, 6, 7]

    def test_line_of_a_missing_value_is_that_of_the_nearest_around_it(self) -> None:
        document = parse_document("a: 1\nb:\n  c: 2\n", "f")
        assert document.line(("b", "missing", "deeper")) == 2
        assert document.line(()) == 1

    def test_alias_is_the_value_and_its_lines_are_where_it_was_written(self) -> None:
        document = parse_document("a: &x\n  n: 1\nb: *x\n", "f")
        assert document.tree == {"a": {"n": "1"}, "b": {"n": "1"}}
        assert document.line(("b",)) == 3
        assert document.line(("b", "n")) == 2

    def test_windows_line_ends(self) -> None:
        document = parse_document("a: 1\r\nb: 2\r\n", "f")
        assert document.tree == {"a": "1", "b": "2"}
        assert document.line(("b",)) == 2

    def test_yaml_1_2_directive(self) -> None:
        assert parse_document("%YAML 1.2\n---\na: 1\n...\n", "f").tree == {"a": "1"}


@pytest.mark.usefixtures("parser")
class TestWhatIsRefused:
    def test_duplicate_key_names_both_lines(self) -> None:
        problem = only_problem("a: 1\nb: 2\na: 3\n")
        assert (problem.line, problem.path) == (3, "a")
        assert "first on line 1" in problem.what

    def test_all_faults_of_the_structure_at_once(self) -> None:
        found = problems("a: 1\na: 2\nb: !x 1\n? [c]\n: 3\n~: 4\n<<: 5\n")
        assert [problem.line for problem in found] == [2, 3, 4, 6, 7]

    def test_a_decimal_comma_in_braces_is_one_clear_problem(self) -> None:
        (found,) = problems("name: x\nsite: {power: 1,5 MW, pods: 2}\n")
        assert (found.path, found.line, found.seen) == ("site.power", 2, "'1,5 MW'")
        assert parse_document("a: {b: 1, c: }\n", "f").tree == {"a": {"b": "1", "c": None}}
        assert parse_document("a: 1\n5:\n", "f").tree == {"a": "1", "5": None}

    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("!!python/object/apply:os.system ['true']", "tags"),
            ("a: !foo b", "tags"),
            ("a: !!str 5", "tags"),
            ("a: &b 1\n<<: *b", "merge keys"),
            ("? [a]\n: b", "a key that is no text"),
            ("{a: 1}: b", "a key that is no text"),
            ("a: &x b\n*x : c", "an alias as a key"),
            ("~: b", "an empty key"),
            ("a: 1\n---\nb: 2\n", "a second YAML document"),
            ("", "empty"),
            ("# nothing\n", "empty"),
            ("~", "empty"),
            ("&a [*a]", "inside itself"),
            ("a: &a {b: {c: *a}}", "inside itself"),
            ("a: *b", "no anchor"),
            ("{power: 1,5 MW}", "a comma ends a value inside braces"),
            ("{power: 1,500, pods: 2}", "a comma ends a value inside braces"),
            ("a: [1, 2\nb: 3\n", "YAML syntax"),
            ("a: 'open\n", "YAML syntax"),
            ("a:\n\t- b\n", "YAML syntax"),
            ("a: b: c\n", "YAML syntax"),
            ("a: 1\x00", "control character"),
            ("a: 1\x1b[31m", "control character"),
            ("a: 1\u2028b: 2", "control character"),
            ("a: \ud800", "control character"),
        ],
    )
    def test_refused(self, text: str, what: str) -> None:
        found = problems(text)
        assert what in found[0].what
        assert found[0].file == "w.yaml"

    def test_syntax_error_has_its_line(self) -> None:
        assert only_problem("a: 1\nb: 2\nc: d: e\n").line == 3

    def test_syntax_error_points_at_the_beginning_of_what_is_not_finished(self) -> None:
        assert only_problem("a: 1\nb\nc: 2\n").line == 2
        assert only_problem("a: 1\nb: 'open\nc: 2\nd: 3\n").line == 2

    def test_syntax_error_in_brackets_has_both_lines(self) -> None:
        problem = only_problem("a: [1,\n 2\nb: 3\n")
        assert problem.line == 3
        assert "line 1" in problem.what

    def test_control_character_has_its_line(self) -> None:
        problem = only_problem("a: 1\nb: \x07\n")
        assert (problem.line, problem.seen) == (2, "U+0007")

    @pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
    def test_nesting_is_bounded(self, opening: str) -> None:
        what = problems(opening * 5000)[-1].what
        assert "nested too deeply" in what or "exceeded maximum nesting depth" in what

    def test_deepest_nesting_is_read(self) -> None:
        tree = parse_document("[" * DEEPEST_NESTING + "]" * DEEPEST_NESTING, "f").tree
        for _ in range(DEEPEST_NESTING - 1):
            (tree,) = tree
        assert tree == []

    def test_exploding_aliases_are_refused_at_once(self) -> None:
        text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
        text += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30))
        start = perf_counter()
        assert "too many values" in only_problem(text).what
        assert perf_counter() - start < 1

    def test_a_million_values_are_refused(self) -> None:
        assert "too many values" in only_problem("[" + "1," * 300_000 + "]").what


class TestFiles:
    def test_reads_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "w.yaml"
        path.write_bytes("\ufeffname: Größe\n".encode())
        document = read_document(path)
        assert document.tree == {"name": "Größe"}
        assert document.file == str(path)

    def test_missing_file_offers_the_nearest(self, tmp_path: Path) -> None:
        (tmp_path / "customer.yaml").touch()
        with pytest.raises(BadInput) as caught:
            read_document(tmp_path / "costumer.yaml")
        (problem,) = caught.value.problems
        assert problem.what == "no such file"
        assert problem.nearest == str(tmp_path / "customer.yaml")

    def test_missing_folder(self, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match="no such file"):
            read_document(tmp_path / "no" / "such.yaml")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match="is a folder"):
            read_document(tmp_path)

    def test_a_file_in_place_of_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(BadInput, match="cannot be read"):
            read_document(tmp_path / "file" / "w.yaml")

    def test_a_path_that_no_system_takes(self) -> None:
        with pytest.raises(BadInput, match="cannot be read"):
            read_document(Path("a\0b"))
        with pytest.raises(BadInput, match="cannot be read"):
            read_document(Path("x" * 5000))

    def test_not_utf_8_has_its_line(self, tmp_path: Path) -> None:
        path = tmp_path / "latin.yaml"
        path.write_bytes("a: 1\nb: Größe\n".encode("latin-1"))
        with pytest.raises(BadInput) as caught:
            read_document(path)
        (problem,) = caught.value.problems
        assert (problem.what, problem.line, problem.seen) == ("not UTF-8", 2, "byte 0xf6")

    def test_utf_16_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "utf16.yaml"
        path.write_bytes("a: 1\n".encode("utf-16"))
        with pytest.raises(BadInput, match="not UTF-8"):
            read_document(path)

    def test_too_large(self, tmp_path: Path) -> None:
        path = tmp_path / "large.yaml"
        path.write_bytes(b"#" * (LARGEST_FILE_BYTES + 1))
        with pytest.raises(BadInput, match="too large"):
            read_document(path)

    def test_a_large_workload_is_read_fast(self) -> None:
        text = "classes:\n" + "".join(
            f"- {{name: c{i}, model: m, context: 4096, concurrency: 5}}\n" for i in range(5000)
        )
        start = perf_counter()
        assert len(parse_document(text, "f").tree["classes"]) == 5000
        assert perf_counter() - start < 5


def test_key_path() -> None:
    assert key_path(("classes", 0, "context")) == "classes[0].context"
    assert key_path(("supply", "gb300-nvl72")) == "supply.gb300-nvl72"
    assert key_path(("a", "b c", "x\n")) == "a['b c']['x\\n']"
    assert len(key_path(("y" * 10_000,))) < 100


# Pieces that a hostile or a careless file is made of.
INDICATORS = ["a", "b: ", ": ", "- ", "? ", "[", "]", "{", "}", ", ", "'", '"', "|", ">", "#c", "\\", "@", "~", "<<: "]
BLANKS = ["\n", "\n  ", "\n    ", "\t", "\r", "\ufeff", "\x00"]
PROPERTIES = ["&x ", "*x", "!t ", "!!str ", "---\n", "...\n", "%YAML 1.2\n"]
PIECES = st.sampled_from([*INDICATORS, *BLANKS, *PROPERTIES])


def parsed(read: Callable[[], Document]) -> tuple[object, tuple[Problem, ...]]:
    """(tree, problems) of a text; nothing else may come of it."""
    try:
        return read().tree, ()
    except BadInput as error:
        return None, error.problems


@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=60))
@settings(max_examples=400, deadline=None)
def test_any_text_is_a_tree_or_bad_input(text: str) -> None:
    tree, found = parsed(lambda: parse_document(text, "f.yaml"))
    assert_text_only(tree)
    assert (tree is None) == bool(found)
    for problem in found:
        assert problem.file == "f.yaml"
        assert problem.line is None or 1 <= problem.line <= len(text.splitlines()) + 1
        assert str(problem).isprintable()


@given(st.binary(max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_a_tree_or_bad_input(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.yaml"
    path.write_bytes(content)
    tree, found = parsed(lambda: read_document(path))
    assert_text_only(tree)
    assert (tree is None) == bool(found)


def assert_text_only(tree: object) -> None:
    if isinstance(tree, dict):
        assert all(isinstance(key, str) for key in tree)
        for value in tree.values():
            assert_text_only(value)
    elif isinstance(tree, list):
        for value in tree:
            assert_text_only(value)
    else:
        assert tree is None or isinstance(tree, str)


NAMES = st.text(st.characters(categories=("L", "N"), max_codepoint=0x2FF), min_size=1, max_size=8)
TREES = st.recursive(
    NAMES.filter(lambda text: text not in ("null", "Null", "NULL")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)


@given(TREES)
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read_back(tree: object) -> None:
    text = yaml.dump(tree, allow_unicode=True, Dumper=_QuotingDumper)
    assert parse_document(text, "f").tree == tree


class _QuotingDumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True

    def represent_str_quoted(self, data: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", data, style='"')


_QuotingDumper.add_representer(str, _QuotingDumper.represent_str_quoted)
