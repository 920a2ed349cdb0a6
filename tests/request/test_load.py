from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sizing.request.load import load_workload, workload_from
from sizing.request.schema import ClassEntry, PolicyEntry, SiteEntry, Workload
from sizing.units.document import parse_document
from sizing.units.errors import BadInput, Problem

FULL = """\
name: Example customer
classes:
  - name: chat
    model: Org/Dense-7B
    context: 4k
    concurrency: 50
    weights: [bf16, fp8]
    kv_precision: [fp16, fp8]
  - name: agents
    model: moe-8x1b
    context: 8192
    concurrency: 4
    allow_longer_context: true
site:
  pod: both-pod
  power: 5 MW
  liquid_heat: 4 MW
  air_heat: 800 kW
  pods: 0
  pod_air_heat: 250 kW
policy:
  reserve: 5 %
  headroom: 10 %
  spare_systems: 1
  systems: [rack-72, liquid-8]
  supply: {rack-72: 12}
  objective: [power, pods]
  mixed_pods: true
  split_precision: true
  dcp: true
  engine: ideal
  hbm: driver
  power_basis: installed
  prices: {}
"""


def problems(text: str, catalog: Any) -> list[Problem]:
    with pytest.raises(BadInput) as caught:
        workload_from(parse_document(text, "w.yaml"), catalog)
    return list(caught.value.problems)


def test_every_key_arrives(tmp_path: Path, fake_catalog: Any) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(FULL)
    request = load_workload(path, fake_catalog)
    agents, chat = request.classes
    assert (chat.name, chat.model.name, chat.context, chat.concurrency, chat.demand) == (
        "chat",
        "dense-7b",
        4096,
        50,
        55,
    )
    assert chat.weights == ("bf16", "fp8")
    assert [precision.name for precision in chat.kv_precisions] == ["bf16", "fp8"]
    assert (agents.context, agents.weights) == (8192, ("bf16",))
    (site,) = request.sites
    assert (site.name, site.pod.name, site.pods) == ("site", "both-pod", 0)
    assert (site.power_kw, site.liquid_kw, site.air_kw) == (5000, 4000, 800)
    assert (site.pod_liquid_kw, site.pod_air_kw) == (None, 250)
    policy = request.policy
    assert (policy.reserve, policy.headroom, policy.spare_systems) == (Fraction(1, 20), Fraction(1, 10), 1)
    assert (policy.systems, policy.supply) == (("liquid-8", "rack-72"), {"rack-72": 12})
    assert policy.objective == ("power", "pods")
    assert (policy.mixed_pods, policy.split_precision, policy.dcp) == (True, True, True)
    assert (policy.engine, policy.hbm, policy.power_basis) == ("ideal", "driver", "installed")
    assert [system.name for system in request.candidates] == ["liquid-8", "rack-72"]


def test_defaults(fake_catalog: Any, workload: dict[str, Any]) -> None:
    request = workload_from(workload, fake_catalog)
    (chat,) = request.classes
    assert (chat.demand, chat.weights) == (20, ("bf16",))
    assert [precision.name for precision in chat.kv_precisions] == ["bf16"]
    (site,) = request.sites
    assert (site.name, site.pod.name) == ("site", "podos-1mw")
    assert {site.power_kw, site.liquid_kw, site.air_kw, site.pods, site.pod_air_kw, site.pod_liquid_kw} == {None}
    policy = request.policy
    assert (policy.reserve, policy.headroom, policy.spare_systems) == (Fraction(1, 10), 0, 0)
    assert policy.objective == ("pods", "system_kinds", "power", "gpus", "precision")
    assert (policy.systems, policy.supply) == (None, {})
    assert (policy.mixed_pods, policy.split_precision, policy.dcp) == (False, False, False)
    assert (policy.engine, policy.hbm, policy.power_basis) == ("ideal", "label", "provisioned")


def test_several_sites_and_classes_are_sorted(fake_catalog: Any, workload: dict[str, Any]) -> None:
    workload["sites"] = [{"name": "north", "pod": "air-pod"}, {"name": "east"}]
    workload["classes"].insert(0, {**workload["classes"][0], "name": "z"})
    request = workload_from(workload, fake_catalog)
    assert [site.name for site in request.sites] == ["east", "north"]
    assert [service.name for service in request.classes] == ["chat", "z"]


def test_an_objective_from_the_command_replaces_that_of_the_file(fake_catalog: Any, workload: dict[str, Any]) -> None:
    assert workload_from(workload, fake_catalog, ["gpus"]).policy.objective == ("gpus",)
    with pytest.raises(BadInput, match=r"objective\[0\]: unknown stage .*did you mean 'gpus'"):
        workload_from(workload, fake_catalog, ["gpu"])
    with pytest.raises(BadInput, match="at least one"):
        workload_from(workload, fake_catalog, [])


def test_stages_in_any_order(fake_catalog: Any, workload: dict[str, Any]) -> None:
    stages = ["weight_precision", "precision", "gpus", "power", "system_kinds", "pods"]
    workload["policy"] = {"objective": stages}
    assert workload_from(workload, fake_catalog).policy.objective == tuple(stages)


CLASS = "name: a\nclasses:\n- {name: c, model: dense-7b, context: 4096, concurrency: 1, "
POLICY = "name: a\nclasses: [{name: c, model: dense-7b, context: 4096, concurrency: 1}]\npolicy: {"
SITE = "name: a\nclasses: [{name: c, model: dense-7b, context: 4096, concurrency: 1}]\nsite: {"


@pytest.mark.parametrize(
    ("text", "path", "what", "accepted", "nearest"),
    [
        (CLASS + "weight: fp8}", "classes[0].weight", "unknown key", "weights", "weights"),
        (CLASS + "weights: fp9}", "classes[0].weights[0]", "unknown weight precision", "fp8-block", "fp8"),
        (CLASS + "weights: mxfp4}", "classes[0].weights", "dense-7b has none", "another", None),
        (CLASS + "kv_precision: [bf16, fp16]}", "classes[0].kv_precision", "twice", "once", None),
        (CLASS + "kv_precision: fp9}", "classes[0].kv_precision[0]", "fp9", "bf16, fp8", "fp8"),
        (SITE + "pod: podos}", "site.pod", "podos", "podos-1mw", "podos-1mw"),
        (SITE + "power: 5}", "site.power", "needs a unit", "MW", None),
        (SITE + "power: -5 MW}", "site.power", "negative", "MW", None),
        (SITE + "power: 5000 GW}", "site.power", "absurdly large", "1000 GW", None),
        (SITE + "power: }", "site.power", "is empty", "leave the key out", None),
        (SITE + "pods: 2, installed: {pods: 3}}", "site.installed.pods", "more Pods than", "at most 2", None),
        (SITE + "instaled: {}}", "site.instaled", "unknown key", "installed", "installed"),
        (POLICY + "systems: [rack72]}", "policy.systems[0]", "rack72", "rack-72", "rack-72"),
        (POLICY + "systems: []}", "policy.systems", "is empty", "at least one", None),
        (POLICY + "supply: {rack72: 3}}", "policy.supply.rack72", "rack72", "rack-72", "rack-72"),
        (POLICY + "supply: {rack-72: 2k}}", "policy.supply.rack-72", "2,048", "without a suffix", None),
        (POLICY + "reserve: 10}", "policy.reserve", "1,000 %", "10 %", None),
        (POLICY + "reserve: 100 %}", "policy.reserve", "leaves no memory", "less than 100 %", None),
        (POLICY + "headroom: '0,26'}", "policy.headroom", "0.26", "10 %", None),
        (POLICY + "headroom: 2000 %}", "policy.headroom", "absurdly large", "1,000 %", None),
        (POLICY + "objective: [cost]}", "policy.prices.pods.podos-1mw", "stage cost needs the price", "0 USD", None),
        (POLICY + "objective: [pods, pods]}", "policy.objective", "twice", "once", None),
        (POLICY + "objective: [podds]}", "policy.objective[0]", "unknown stage", "pods", "pods"),
        (POLICY + "engine: vlm}", "policy.engine", "engine 'vlm' is not known", "ideal, vllm", "vllm"),
        (POLICY + "prices: {air-8: 5}}", "policy.prices.air-8", "unknown key", "systems, pods, energy", None),
        (POLICY + "hbm: labels}", "policy.hbm", "not one of", "label, driver", "label"),
        (POLICY + "mixed_pods: yes}", "policy.mixed_pods", "neither true nor false", "true", None),
        (POLICY + "spare_systems: 9999999}", "policy.spare_systems", "absurdly large", "1,000,000", None),
    ],
)
def test_problems(fake_catalog: Any, text: str, path: str, what: str, accepted: str, nearest: str | None) -> None:
    (problem,) = problems(text, fake_catalog)
    assert (problem.path, problem.file, problem.line, problem.nearest) == (path, "w.yaml", 3, nearest)
    assert what in problem.what
    assert accepted in (problem.accepted or "")


def class_problem(catalog: Any, **changed: str) -> Problem:
    keys = {"name": "c", "model": "dense-7b", "context": "4096", "concurrency": "1", **changed}
    (problem,) = problems(
        f"name: a\nclasses:\n- {{{', '.join(f'{key}: {text}' for key, text in keys.items())}}}", catalog
    )
    return problem


@pytest.mark.parametrize(
    ("key", "text", "what", "nearest"),
    [
        ("model", "dense-8b", "dense-8b", "dense-7b"),
        ("model", "./models/config.json", "a path says nothing here", None),
        ("model", "config.json", "a path says nothing here", None),
        ("model", "/models/llama", "a path says nothing here", None),
        ("context", "0", "more than 0", None),
        ("context", "-1", "negative", None),
        ("context", "1e5", "exponents", None),
        ("context", "200k", "204,800 tokens are beyond the limit of dense-7b (decision 13)", None),
        ("context", "5_000_000_000", "absurdly large", None),
        ("concurrency", "0", "more than 0", None),
        ("concurrency", "2k", "2,000 or 2,048", None),
        ("concurrency", "2_000_000_000", "absurdly large", None),
    ],
)
def test_problems_of_a_class(fake_catalog: Any, key: str, text: str, what: str, nearest: str | None) -> None:
    problem = class_problem(fake_catalog, **{key: text})
    assert (problem.path, problem.nearest) == (f"classes[0].{key}", nearest)
    assert what in problem.what


def test_a_longer_context_only_with_permission(fake_catalog: Any, workload: dict[str, Any]) -> None:
    workload["classes"][0] |= {"context": 131_072}
    assert workload_from(workload, fake_catalog).classes[0].context == 131_072
    workload["classes"][0] |= {"context": 131_073}
    with pytest.raises(BadInput, match="allow_longer_context: true"):
        workload_from(workload, fake_catalog)
    workload["classes"][0] |= {"allow_longer_context": True}
    assert workload_from(workload, fake_catalog).classes[0].context == 131_073


def test_duplicate_names_with_both_lines(fake_catalog: Any) -> None:
    text = "name: a\nclasses:\n"
    text += "- name: c\n  model: dense-7b\n  context: 1\n  concurrency: 1\n" * 2
    text += "sites:\n- name: s\n- name: s\n"
    found = problems(text, fake_catalog)
    assert [(problem.line, problem.path, problem.what) for problem in found] == [
        (7, "classes[1].name", "duplicate name, first on line 3"),
        (13, "sites[1].name", "duplicate name, first on line 12"),
    ]


def test_site_beside_sites(fake_catalog: Any) -> None:
    (problem,) = problems(SITE + "}\nsites: [{name: s}]\n", fake_catalog)
    assert (problem.line, problem.path) == (4, "sites")
    assert "site is on line 3" in problem.what


def test_a_site_among_several_needs_a_name(fake_catalog: Any) -> None:
    found = problems(CLASS + "}\nsites: [{pods: 1}]\n", fake_catalog)
    assert [(problem.line, problem.path, problem.what) for problem in found] == [(4, "sites[0].name", "missing")]


def test_an_engine_profile_replaces_the_reserve(fake_catalog: Any) -> None:
    found = problems(POLICY + "engine: vllm, reserve: 10 %}", fake_catalog)
    assert any(problem.path == "policy.reserve" and "decision 2" in problem.what for problem in found)
    assert workload_from(parse_document(POLICY + "engine: ideal, reserve: 10 %}", "f"), fake_catalog)


def test_absurd_demand_in_all(fake_catalog: Any, workload: dict[str, Any]) -> None:
    workload["classes"] = [{**workload["classes"][0], "name": str(i), "concurrency": 400_000_000} for i in range(3)]
    with pytest.raises(BadInput, match="the demand is absurdly large"):
        workload_from(workload, fake_catalog)


def test_all_problems_of_a_file_at_once(fake_catalog: Any) -> None:
    text = (
        "name: a\nclasses:\n- {name: c, model: dense-8b, context: 4096, concurrency: 1}\n"
        "- {name: c, model: dense-7b, context: 500k, concurrency: -1}\n"
        "sites: [{name: s, pod: podo, powr: 1}]\nsite: {}\npolicy: {systems: [x], objective: [costs]}\n"
    )
    assert [(problem.line, problem.path) for problem in problems(text, fake_catalog)] == [
        (3, "classes[0].model"),
        (4, "classes[1].name"),
        (4, "classes[1].context"),
        (4, "classes[1].concurrency"),
        (5, "sites"),
        (5, "sites[0].pod"),
        (5, "sites[0].powr"),
        (7, "policy.systems[0]"),
        (7, "policy.objective[0]"),
    ]


@pytest.mark.parametrize(
    "tree",
    [
        None,
        5,
        "text",
        [],
        {},
        {"name": "a", "classes": None},
        {"name": "a", "classes": {}},
        {"name": "a", "classes": [None, 5, "x", []]},
        {"name": "a", "classes": "x", "site": [], "sites": {}, "policy": 4},
        {"name": 5, "classes": [{"name": ["a"], "model": {}, "context": [], "concurrency": object()}]},
        {5: 6, "name": "a", None: 1, "classes": []},
        {"name": "a", "classes": [], "policy": {"prices": {1: 2}, "supply": {3: 4}, "engine": 5}},
        {"name": "\ud800", "classes": []},
    ],
)
def test_any_tree_from_python_is_bad_input(fake_catalog: Any, tree: Any) -> None:
    with pytest.raises(BadInput) as caught:
        workload_from(tree, fake_catalog)
    assert caught.value.problems
    assert str(caught.value).replace("\n", "").isprintable()


WORDS = [
    "podos-1mw",
    "ideal",
    "label",
    "true",
    "dense-7b",
    "Org/MoE",
    "fp8",
    "air-8",
    "pods",
    "cost",
    "\x00",
    "x" * 500,
]
NUMBERS = ["", "5 MW", "4k", "10 %", "-1", "1e999", "0", "7", "9" * 5000]
SCALARS = st.sampled_from([*WORDS, *NUMBERS]) | st.none() | st.text(max_size=5)
DECLARED = [key for entry in (Workload, ClassEntry, SiteEntry, PolicyEntry) for key in entry.model_fields]
KEYS = st.sampled_from([*DECLARED, "air-8", "other"])
ANY_TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=25,
)
CLASSES = st.lists(
    st.fixed_dictionaries(
        {"name": SCALARS, "model": SCALARS, "context": SCALARS, "concurrency": SCALARS}, optional={"weights": ANY_TREES}
    ),
    max_size=3,
)


@given(
    ANY_TREES
    | st.fixed_dictionaries(
        {"name": SCALARS, "classes": CLASSES | ANY_TREES}, optional={"site": ANY_TREES, "policy": ANY_TREES}
    )
)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_tree_is_a_request_or_bad_input(fake_catalog: Any, tree: Any) -> None:
    try:
        request = workload_from(tree, fake_catalog)
    except BadInput as error:
        text = str(error)
    else:
        text = request.input_sha256
    assert text
    assert text.replace("\n", "").isprintable()


def test_a_broken_catalog_is_not_blamed_on_the_name(fake_catalog: Any, workload: dict[str, Any]) -> None:
    def broken(name: str) -> Any:
        raise BadInput(Problem("unknown key", "x.y", "catalog.yaml", 3))

    fake_catalog.model = broken
    with pytest.raises(BadInput) as caught:
        workload_from(workload, fake_catalog)
    assert [problem.file for problem in caught.value.problems] == ["catalog.yaml"]
