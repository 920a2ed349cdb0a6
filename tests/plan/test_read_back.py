"""A plan document read back: a good one holds, and nothing in it can be changed unnoticed, be it ever so little."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sizing.catalog.catalog import Catalog
from sizing.facility.bill_rules import BillRules, RuleLine
from sizing.facility.quantities import PerPod
from sizing.facility.selection import Selection
from sizing.facility.system import System
from sizing.plan.check import check
from sizing.plan.document import no_plan_document, plan_document, seals, to_json
from sizing.plan.plan import NoPlan, Plan, StageResult, Status
from sizing.plan.reading import DEEPEST_NESTING, parse_json, read_content
from sizing.plan.verify import verify_document, verify_file
from sizing.request.canonical import document_of, sha256_of
from sizing.request.load import request_from_document
from sizing.request.request import Rejection
from sizing.units.errors import BadInput, Problem
from tests.plan_builders import BF16, DENSE_70B, FP8, LATENT_671B, NODE, RACK, TEST_POD, figure, two_sites


class FakeCatalog:
    """What a request asks of a catalog, from the objects of the plan builders; `changes` are to single entries."""

    def __init__(self, *systems: System, **changes: Any) -> None:
        self.sections: dict[str, dict[str, Any]] = {
            "gpus": {system.gpu.name: system.gpu for system in systems or (NODE, RACK)},
            "systems": {system.name: system for system in systems or (NODE, RACK)},
            "models": {model.name: model for model in (DENSE_70B, LATENT_671B)},
            "precisions": {kv.name: kv for kv in (BF16, FP8)},
            "pods": {TEST_POD.name: TEST_POD},
            "engines": {"ideal": {}},
            "bill_rules": {},
        }
        self.changes = changes

    def names(self, section: str) -> tuple[str, ...]:
        return tuple(self.sections[section])

    def overlaid(self, section: str) -> tuple[str, ...]:
        return ()

    def system(self, name: str) -> Any:
        return self._find("systems", name)

    def model(self, name: str) -> Any:
        return self._find("models", name)

    def kv_precision(self, name: str) -> Any:
        return self._find("precisions", name)

    def pod(self, name: str) -> Any:
        return self._find("pods", name)

    def entry(self, section: str, name: str) -> dict[str, Any]:
        return {"name": name, "value": self.changes.get(name.replace("-", "_"), 1)}

    def _find(self, section: str, name: str) -> Any:
        if name not in self.sections[section]:
            raise BadInput(Problem(f"{section} {name!r} is not known"))
        return self.sections[section][name]


CATALOG: Any = FakeCatalog()


def documented(plan: Plan, catalog: Any = CATALOG) -> dict[str, Any]:
    """The document of a plan whose request went through a catalog, as its JSON says it."""
    asked = plan.request
    form = document_of(asked.name, asked.classes, asked.sites, asked.policy)
    request = request_from_document(form, catalog)
    document = plan_document(replace(plan, request=request, assumptions=request.assumptions))
    found = json.loads(to_json(document))
    assert isinstance(found, dict)
    return found


GOOD = documented(replace(two_sites(), rejected=(Rejection("node-8", "latent-671b", "the weights do not fit"),)))


def findings(document: Any, catalog: Any = CATALOG) -> list[str]:
    return [str(finding) for finding in verify_document(document, catalog).findings]


def told(document: Any) -> tuple[int, list[str]]:
    """The exit code that a document gives, and the lines that say why."""
    try:
        found = findings(document)
    except BadInput as error:
        return 2, [str(problem) for problem in error.problems]
    return 5 if found else 0, found


Path = tuple[str | int, ...]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Everything in a document that is no object and no list."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, key))
    else:
        yield path, value


def nodes(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path of everything in a document."""
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from nodes(inner, (*path, key))


def changed(path: Path, change: Callable[[Any, Any], None]) -> dict[str, Any]:
    """The good document after `change(what holds the value at the path, its key)`."""
    document = deepcopy(GOOD)
    holder: Any = document
    for key in path[:-1]:
        holder = holder[key]
    change(holder, path[-1])
    return document


def with_value(path: Path, value: Any) -> dict[str, Any]:
    return changed(path, lambda holder, key: holder.__setitem__(key, value))


def others(value: Any) -> list[Any]:
    """Other values in the place of one: some of its type, some of another."""
    if isinstance(value, bool):
        return [not value, int(value)]
    if isinstance(value, int | float):
        return [value + 1, value - 1, str(value)]
    if value is None:
        return [0, "x"]
    return [value + "\x1b", "" if value else "x", None]


def test_a_good_document_holds() -> None:
    verdict = verify_document(GOOD, CATALOG)
    assert verdict.findings == ()
    assert verdict.plan is not None
    assert check(verdict.plan) == ()
    assert json.loads(to_json(plan_document(verdict.plan))) == GOOD


LEAVES = dict(leaves(GOOD))


@pytest.mark.parametrize("key", [key for key in GOOD if key != "content_sha256"])
def test_no_value_can_be_changed_unnoticed(key: str) -> None:
    """A change is found, and something that is said names the key: the very one, or what disagrees with it."""
    for path, value in LEAVES.items():
        if path[0] != key:
            continue
        for other in others(value):
            code, lines = told(with_value(path, other))
            assert code, f"{path} = {other!r} is not noticed"
            names = NAMED_WITH.get(key, ()) if code == 5 else ()
            assert any(name in line for line in lines for name in (key, *names)), f"{path} = {other!r}: {lines}"
            assert all(line.isprintable() for line in lines)


NAMED_WITH = {
    "deployments": ("classes",),
    "request": ("input_sha256", "limits", "deployments"),
    "sha256": (*seals(GOOD),),
}
"""Where a value disagrees with others, it is they that may be named: pools that hold too little of a class."""


def test_as_many_values_are_tried_as_a_plan_has() -> None:
    assert len(LEAVES) > 350


def test_nothing_can_be_left_out_unnoticed() -> None:
    for path in nodes(GOOD):
        code, lines = told(changed(path, lambda holder, key: holder.__delitem__(key)))
        assert code, f"without {path}"
        assert lines


def test_nothing_can_be_added_unnoticed() -> None:
    for path in nodes(GOOD):
        if path[-1] == 0:
            document = changed(path, lambda holder, key: holder.append(deepcopy(holder[key])))
        elif isinstance(path[-1], str):
            document = with_value((*path[:-1], f"{path[-1]}x"), 1)
        else:
            continue
        assert told(document)[0], f"more beside {path}"


JUNK: list[Any] = [[], {}, [1, 2], [[]], [{}], {"a": {"b": 1}}, 10**14, -(10**14), 1e300, 10**18]


def test_junk_in_any_place_is_bad_input_or_wrong() -> None:
    for number, path in enumerate(nodes(GOOD)):
        document = with_value(path, JUNK[number % len(JUNK)])
        assert document == GOOD or told(document)[0] in (2, 5), path


# What is said, case by case.


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        (("status",), "feasible", "status: says 'feasible', right is 'optimal'"),
        (("totals", "gpus"), 176, "totals.gpus: says 176, right is 168"),
        (("totals", "nameplate_kw"), 314.5, "totals.nameplate_kw: says 314.5, right is 314.6"),
        (("memory", "weights"), 1, "memory.weights: says 1, right is 1214172196864"),
        (("tokens", "by_model", "dense-70b", "spare"), 1, "tokens.by_model.dense-70b.spare: says 1, right is 870328"),
        (("systems", "node-8"), 4, "systems.node-8: says 4, pods hold 3"),
        (("objective", 3, "value"), 160, "objective[3].value: says 160, right is 168"),
        (("objective", 3, "gap"), 0.1, "objective[3].gap: says 0.1, right is 0.0"),
        (("limits", 1, "used"), 127, "limits[1].used: says 127, right is 127.8"),
        (("limits", 1, "binding"), False, "limits[1].binding: says False, right is True"),
        (("deployments", 0, "layout", "ep"), 8, "deployments[0].layout.ep: says 8, right is 1"),
        (
            ("deployments", 2, "kv_budget_bytes_per_pool"),
            0,
            "deployments[2].kv_budget_bytes_per_pool: says 0, right is 160343755264",
        ),
        (("deployments", 2, "bytes_per_token"), 1, "deployments[2].bytes_per_token: says 1, right is 70272"),
        (
            ("classes", 3, "placements", 0, "sequence_bytes"),
            1,
            "classes[3].placements[0].sequence_bytes: says 1, request and deployments give 5368709120",
        ),
        (
            ("classes", 3, "precision", "kv_precision"),
            "bf16",
            "classes[3].precision.kv_precision: says 'bf16', request and deployments give 'fp8'",
        ),
        (("placement", 2, "idle_gpus"), 0, "placement[2].idle_gpus: says 0, right is 64"),
        (("placement", 1, "replicas", 0, "gpus"), 8, "placement[1].replicas[0].gpus: says 8, right is 4"),
        (("request", "classes", 1, "demand"), 12, "request.classes[1].demand: says 12, right is 11"),
        (
            ("catalog", "entries", "systems", "node-8", "value"),
            2,
            "catalog.entries.systems.node-8.value: says 2, the catalog at hand says 1",
        ),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_one_wrong_figure_is_one_finding(path: Path, value: Any, line: str) -> None:
    assert findings(with_value(path, value)) == [line]


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        (("pods", 0, "pod"), "other", "pods[0].pod: says 'other', right is 'test-pod'"),
        (("pods", 0, "site"), "east", "pods[0].site: 'east' is not known to the request"),
        (("pods", 0, "planned", "node-8"), 1, "pods[0].fill.node-8: says 2, more than the 1 that are planned"),
        (
            ("pods", 0, "planned", "node-8"),
            6,
            "pods: Pod at 'north' with 2 node-8 + 1 rack-72: its fill is not full, one more node-8 fits",
        ),
        (("pods", 0, "count"), 0, "pods[0].count: says 0, the least is 1"),
        (("pods", 0, "fill", "node-8"), 1, "systems.node-8: says 3, pods hold 2"),
        (
            ("deployments", 1, "system"),
            "rack-72",
            "deployments[1].id: says 'node-8/dense-70b/bf16/fp8/tp4', right is 'rack-72/dense-70b/bf16/fp8/tp4'",
        ),
        (
            ("deployments", 1, "model"),
            "latent-671b",
            "deployments[1].patterns[0].sequences.notes: its model is dense-70b, not 'latent-671b'",
        ),
        (("deployments", 1, "weights"), "fp4", "deployments[1].weights: 'fp4' is not known to the request"),
        (("deployments", 1, "replicas"), 3, "deployments[1].pools: says 2, right is 3"),
        (
            ("deployments", 1, "patterns", 0, "count"),
            2,
            "deployments[1].patterns: count 3 pools, replicas with their pools are 2",
        ),
        (
            ("deployments", 0, "patterns", 0, "sequences", "long"),
            21,
            "deployments[0]: node-8/dense-70b/bf16/bf16/tp8: a pool with chat 11, long 21 needs 42,614,495,232 bytes",
        ),
        (
            ("placement", 0, "replicas", 0, "deployment"),
            "x",
            "placement[0].replicas[0].deployment: 'x' is no deployment of this plan",
        ),
        (("placement", 2, "systems", 1), 2, "placement[2].systems[1]: says 2, a placement that holds has 1"),
        (("objective", 0, "bound"), 1, "status: says 'optimal', right is 'feasible'"),
        (("objective", 0, "stage"), "cost", "objective[0].stage: 'cost' is not known to the request"),
        (("request", "policy", "spare_systems"), 2, "deployments: 2 of 2 replicas of node-8"),
        (("request", "sites", 0, "air_heat_kw"), 30, "limits: site 'north': air_heat takes 34.6 of 30.0 kW"),
        (("request", "classes", 0, "concurrency"), 190, "classes[0]: class 'agents': the pools hold 201 of 209"),
        (
            ("request", "classes", 0, "context_tokens"),
            -1,
            "request.classes[0].context_tokens: must not be negative, seen -1",
        ),
        (("request", "classes", 0, "model"), "other", "request.classes[0].model: models 'other' is not known, seen"),
        (("request", "policy", "reserve_share"), 2, "request.policy.reserve_share"),
        (("rejected", 0, "why"), "", "rejected: is not as it was written"),
        (("version",), "0.0.0", "version: is not as it was written"),
        (("sha256", "version"), "0", "version: is not as it was written, or its hash in sha256 is not"),
        (("sha256", "other"), "0", "other: is missing, or sha256 has a key 'other' too much"),
        (("other",), 1, "other: does not belong here, or its hash is missing in sha256"),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_what_is_said_first_or_among_the_rest(path: Path, value: Any, line: str) -> None:
    assert any(found.startswith(line) for found in findings(with_value(path, value)))


def test_a_changed_request_is_not_the_one_that_was_planned() -> None:
    (line,) = findings(with_value(("request", "name"), "Other"))
    assert line.startswith(f"input_sha256: says {GOOD['input_sha256']}, request gives ")
    assert line.endswith(": this is not the request that was planned")


def test_hashes_that_are_no_hashes_are_shown_as_text() -> None:
    (line,) = findings(with_value(("input_sha256",), "\x1b[31m"))
    assert line.startswith(r"input_sha256: says '\x1b[31m', request gives ")


# Another catalog.


def test_a_plan_of_another_catalog_says_which_entries_differ() -> None:
    catalog: Any = FakeCatalog(rack_72=7)
    verdict = verify_document(GOOD, catalog)
    first, second = map(str, verdict.findings)
    assert first == "catalog.entries.systems.rack-72.value: says 1, the catalog at hand says 7"
    assert second.startswith(f"catalog.sha256: says {GOOD['catalog']['sha256']}, the entries in use here give ")
    assert second.endswith(": the plan was made with another catalog")


def test_a_hash_that_is_not_that_of_the_entries_is_told_as_such() -> None:
    (line,) = findings(with_value(("catalog", "sha256"), "0" * 64))
    assert line.endswith(": it is not the hash of catalog.entries")


def test_what_another_catalog_changes_in_the_plan_is_told_too() -> None:
    weaker = replace(RACK, nameplate_kw=figure(Fraction(150), "kW"))
    lines = findings(GOOD, FakeCatalog(NODE, weaker, rack_72=7))
    assert "totals.nameplate_kw: says 314.6, right is 330.6" in lines


def test_a_catalog_that_lacks_an_entry() -> None:
    lines = findings(GOOD, FakeCatalog(NODE))
    assert "catalog.entries.systems.rack-72: is not in the catalog at hand" in lines
    assert any(line.startswith("request.policy.systems[1]: systems 'rack-72' is not known") for line in lines)


def test_a_wrong_file_of_the_catalog_is_bad_input() -> None:
    class Broken(FakeCatalog):
        def model(self, name: str) -> Any:
            raise BadInput(Problem("is no model", "layers", "models/dense-70b.yaml", 3))

    with pytest.raises(BadInput, match=r"^models/dense-70b.yaml:3: layers: is no model"):
        findings(GOOD, Broken())


# Ways to say the same.


def test_the_same_said_otherwise_holds() -> None:
    text = json.dumps({key: GOOD[key] for key in reversed(GOOD)}, sort_keys=True)
    assert findings(parse_json(b"\xef\xbb\xbf" + text.encode("ascii"), "f")) == []

    def as_floats(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: as_floats(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [as_floats(inner) for inner in value]
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value

    tree = {key: inner if key in ("request", "catalog") else as_floats(inner) for key, inner in GOOD.items()}
    assert findings(tree) == []


def test_another_placement_that_holds_too_is_right() -> None:
    """Node 1 and node 2 change places."""
    first, second, *rest = deepcopy(GOOD["placement"])
    first["systems"], second["systems"] = second["systems"], first["systems"]
    assert findings({**GOOD, "placement": [second, first, *rest]}) == []


def test_a_placement_on_systems_kept_spare_does_not_hold() -> None:
    """One of the two replicas of node 2 goes to the node at the other site, so that none stands spare."""
    placement = deepcopy(GOOD["placement"])
    notes, spare = placement[1], placement[3]
    assert (spare["site"], spare["system"], spare["replicas"]) == ("south", "node-8", [])
    half = [{**notes["replicas"][0], "count": 1}]
    for box in (notes, spare):
        box.update(replicas=half, idle_gpus=4)
    assert "placement: 0 of 3 node-8 stand spare, 1 are asked for" in findings({**GOOD, "placement": placement})


def test_a_key_that_is_not_known_yet_holds_by_its_hash() -> None:
    later = {**GOOD, "alternatives": [1, {"a": 0.0}]}
    later["sha256"] = seals(later)
    assert findings(later) == []
    assert findings({**later, "alternatives": [2, {"a": 0.0}]}) != []


def test_a_plan_that_is_not_proven_holds_with_its_bounds() -> None:
    stages = (StageResult("pods", "Pods", 2, 1), *(replace(s, conditional=True) for s in two_sites().stages[1:]))
    document = documented(replace(two_sites(), stages=stages, status=Status.FEASIBLE, reproducible=False))
    assert findings(document) == []
    document["objective"][0]["bound"] = None
    assert "objective[0].gap: says 0.5, right is nothing" in findings(document)


def test_the_balance_of_plant_is_counted_for_what_is_planned() -> None:
    per_pod = PerPod(2, Selection())
    line = RuleLine(
        "pump", "Cooling", "test", "pump", "", "piece", per_pod, (), "", "low", figure(Fraction(1, 3), "kW")
    )
    pod = replace(TEST_POD, bill_rules=BillRules("rules", "Rules", (line,)))
    catalog: Any = FakeCatalog()
    catalog.sections["pods"][pod.name] = pod
    asked = two_sites().request
    sites = tuple(replace(site, pod=pod) for site in asked.sites)
    document = documented(replace(two_sites(), request=replace(asked, sites=sites)), catalog)
    lines = findings(document, catalog)
    assert "totals.balance_kw: says 0, right is 1.3333333333333333" in lines
    document["totals"] |= {"balance_kw": 1.3333333333333333, "balance_air_kw": 1.3333333333333333}
    for index, used in ((2, 35.266666666666666), (6, 25.066666666666666)):
        document["limits"][index]["used"] = used
    assert findings(document, catalog) == []


# What is no plan document.


def refused(content: str | bytes) -> str:
    with pytest.raises(BadInput) as error:
        verify_document(
            parse_json(content.encode() if isinstance(content, str) else content, "p.json"), CATALOG, "p.json"
        )
    return str(error.value)


TEXT = json.dumps(GOOD)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "p.json:1: no JSON: Expecting value"),
        ('{\n"a": 1,\n}', "p.json:3: no JSON: "),
        (TEXT[:-20], "p.json:1: no JSON: "),
        (b"\xff\xfe", "p.json:1: not UTF-8"),
        ('{"a": 1, "a": 2}', "p.json: the key 'a' stands twice in one object"),
        ('{"a": NaN}', "p.json: NaN is no number of JSON"),
        ('{"a": -Infinity}', "p.json: -Infinity is no number of JSON"),
        ('{"a": 1e999}', "p.json: '1e999' is too large a number"),
        ('{"a": ' + "9" * 500 + "}", "p.json: a number of 500 digits"),
        ('{"a": "\\ud800"}', "p.json: half a surrogate pair is no text"),
        ("[" * 100 + "]" * 100, "p.json: nested too deeply"),
        ("[" * 200_000 + "]" * 200_000, "p.json: nested too deeply"),
        ("[]", "p.json: is of the wrong type (seen: a list; accepted: an object)"),
        ("3", "p.json: is of the wrong type (seen: 3; accepted: an object)"),
        ("{}", "p.json: schema: is missing"),
        (
            '{"schema": "sizing.kv/1"}',
            "p.json: schema: is no plan document (seen: 'sizing.kv/1'; accepted: sizing.plan",
        ),
        ('{"schema": ["sizing.plan/1"]}', "p.json: schema: is no plan document (seen: a list"),
    ],
    ids=range(17),
)
def test_what_is_no_plan_document(content: str | bytes, said: str) -> None:
    assert refused(content).startswith(said)


def test_all_that_is_missing_or_of_the_wrong_type_is_said_at_once() -> None:
    document = {**GOOD, "placement": None, "reproducible": 1, "sha256": []}
    del document["totals"], document["deployments"]
    document["pods"] = [{**GOOD["pods"][0], "count": "1", "fill": {"node-8": 1.5}}, 7]
    assert refused(json.dumps(document)).splitlines() == [
        "p.json: totals: is missing",
        "p.json: pods[0].fill.node-8: is of the wrong type (seen: 1.5; accepted: a whole number)",
        "p.json: pods[0].count: is of the wrong type (seen: '1'; accepted: a whole number)",
        "p.json: pods[1]: is of the wrong type (seen: 7; accepted: an object)",
        "p.json: deployments: is missing",
        "p.json: placement: is of the wrong type (seen: nothing; accepted: a list)",
        "p.json: reproducible: is of the wrong type (seen: 1; accepted: true or false)",
        "p.json: sha256: is of the wrong type (seen: a list; accepted: an object)",
    ]


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("pods", 0, "count"), 10**7, "pods: 30,000,002 Pods, systems or domains are too many"),
        (("pods", 0, "fill", "node-8"), 10**7, "pods: 10,000,003 Pods, systems or domains are too many"),
        (("placement", 0, "pods"), [1, 10**12], "placement: 1,000,000,000,004 Pods, systems or domains are too many"),
        (("deployments", 0, "replicas"), 10**16, "deployments[0].replicas: is absurdly large"),
        (("placement", 0, "domains"), [1], "placement[0].domains: is no range (seen: a list; accepted: [first, last])"),
        (("request",), {"name": "x"}, "request: is no request"),
    ],
)
def test_what_is_absurd(path: Path, value: Any, said: str) -> None:
    assert any(line.startswith(f"p.json: {said}") for line in refused(json.dumps(with_value(path, value))).splitlines())


@pytest.mark.parametrize("status", [Status.INFEASIBLE, Status.TIMEOUT])
def test_where_there_is_no_plan_there_is_none_to_verify(status: Status) -> None:
    document = no_plan_document(NoPlan(two_sites().request, status, ("because",), (), ()))
    assert refused(to_json(document)).startswith("p.json: status: there is no plan to verify")


def test_the_deepest_nesting_that_is_read() -> None:
    deep = "[" * DEEPEST_NESTING + "]" * DEEPEST_NESTING
    assert parse_json(deep.encode(), "f") == json.loads(deep)


def test_files_that_cannot_be_read(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for path, said in ((tmp_path / "none.json", "no such file"), (tmp_path, "is a folder")):
        with pytest.raises(BadInput, match=said):
            parse_json(read_content(path), str(path))
    monkeypatch.setattr("sizing.plan.reading.LARGEST_FILE_BYTES", 10)
    (tmp_path / "large.json").write_text("[1, 2, 3, 4, 5]")
    with pytest.raises(BadInput, match="too large"):
        read_content(tmp_path / "large.json")


def test_the_hashes_are_those_of_canonical_json() -> None:
    assert GOOD["sha256"]["version"] == sha256_of(GOOD["version"])
    assert GOOD["input_sha256"] == sha256_of(GOOD["request"])
    assert GOOD["catalog"]["sha256"] == sha256_of(GOOD["catalog"]["entries"])


def test_a_large_file_without_the_name_of_the_schema_is_not_parsed(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "junk.json"
    monkeypatch.setattr("sizing.plan.verify.LONG_TO_PARSE", 10)
    file.write_text("[1, 2, 3, 4, 5, 6")
    with pytest.raises(BadInput, match="schema: is no plan document"):
        verify_file(file, Catalog())
    file.write_text('["sizing.plan/1", 2, 3')
    with pytest.raises(BadInput, match="no JSON"):
        verify_file(file, Catalog())
