"""Every statement of the program in its smallest formulation, row by row; and none without such a case."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import pytest

from sizing.facility.site import Site
from sizing.program.constraints import STATEMENTS
from sizing.program.contents import FractionalContents
from sizing.program.exact import formulate
from sizing.program.formulation import Formulation
from sizing.program.slack import Slack
from tests.plan_builders import (
    TEST_POD,
    policy,
    service_class,
)
from tests.program.formulations import (
    AGENTS,
    AT_BF16,
    AT_FP8,
    CHAT,
    LONG,
    ON_NINE,
    ON_RACK,
    POD_WITH_PLANT,
    SMALL,
    formulation_of,
    whole_program,
)
from tests.program.rows import all_rows, rows_of, variables_of

STATEMENT = {state.__name__: state for state in STATEMENTS}


@dataclass(frozen=True)
class Case:
    """The smallest formulation that has a statement, and the rows that the statement adds to it."""

    statement: str
    about: str
    build: Callable[[], Formulation]
    rows: str


CASES = (
    Case(
        "demand_is_served",
        "at two precisions",
        lambda: formulation_of([CHAT], [AT_BF16, AT_FP8]),
        "demand_is_served[chat]: served[0] + served[1] = 12",
    ),
    Case(
        "demand_is_served",
        "where parts of it may give way",
        lambda: formulation_of([LONG], [AT_BF16], slack=Slack(demand_parts=100)),
        """
        demand_is_served[long]: served[0] + unserved[long] = 20
        unserved_is_within_shortfall[long]: unserved[long] - 0.2 shortfall[0] <= 0
        """,
    ),
    Case(
        "served_fits_pools",
        "two patterns and one precision that nothing is filled at",
        lambda: formulation_of(
            [CHAT, LONG],
            [AT_BF16, AT_FP8],
            patterns=[[(("chat", 11), ("long", 20)), (("chat", 12), ("long", 19))], []],
        ),
        """
        served_fits_pools[0]: served[0] - 11 pools[0] - 12 pools[1] <= 0
        served_fits_pools[1]: served[1] <= 0
        served_fits_pools[2]: served[2] - 20 pools[0] - 19 pools[1] <= 0
        """,
    ),
    Case(
        "classes_keep_one_precision",
        "of two",
        lambda: formulation_of([CHAT], [AT_BF16, AT_FP8]),
        """
        classes_are_served_only_at[0]: served[0] - 12 served_at[0] <= 0
        classes_are_served_only_at[1]: served[1] - 12 served_at[1] <= 0
        classes_keep_one_precision[chat]: served_at[0] + served_at[1] = 1
        """,
    ),
    Case(
        "classes_keep_one_precision",
        "lifted",
        lambda: formulation_of([CHAT], [AT_BF16, AT_FP8], rules=policy(split_precision=True)),
        "",
    ),
    Case(
        "pools_fit_replicas",
        "eight pools a replica",
        lambda: formulation_of([AGENTS], [ON_RACK], patterns=[[(("agents", 34),)]]),
        "pools_fit_replicas[rack-72/latent-671b/fp8/bf16/tp1-adp8]: "
        "pools[0] - 8 replicas[rack-72/latent-671b/fp8/bf16/tp1-adp8] <= 0",
    ),
    Case(
        "replicas_fit_domains",
        "of 1, 4, 8 and 9 GPUs in domains of 9: that of 9 takes whatever pieces a domain has",
        lambda: formulation_of([SMALL], ON_NINE),
        """
        replicas_fit_domains[nine,1]: replicas[nine/tiny/bf16/bf16/tp1] + 4 replicas[nine/tiny/bf16/bf16/tp4] \
+ 8 replicas[nine/tiny/bf16/bf16/tp8] + 9 replicas[nine/tiny/bf16/bf16/tp9] - 9 domains[nine] <= 0
        replicas_fit_domains[nine,2]: 2 replicas[nine/tiny/bf16/bf16/tp4] \
+ 4 replicas[nine/tiny/bf16/bf16/tp8] + 4 replicas[nine/tiny/bf16/bf16/tp9] - 4 domains[nine] <= 0
        replicas_fit_domains[nine,4]: replicas[nine/tiny/bf16/bf16/tp4] \
+ 2 replicas[nine/tiny/bf16/bf16/tp8] + 2 replicas[nine/tiny/bf16/bf16/tp9] - 2 domains[nine] <= 0
        replicas_fit_domains[nine,8]: replicas[nine/tiny/bf16/bf16/tp8] \
+ replicas[nine/tiny/bf16/bf16/tp9] - domains[nine] <= 0
        """,
    ),
    Case(
        "domains_are_bought",
        "two domains a system, one system kept spare, two sites",
        lambda: formulation_of(
            [SMALL],
            ON_NINE[:1],
            sites=[Site("north", TEST_POD), Site("south", TEST_POD)],
            rules=policy(spare_systems=1),
        ),
        "domains_are_bought[nine]: "
        "2 systems[north,nine] + 2 systems[south,nine] - 2 kind_is_used[nine] - domains[nine] = 0",
    ),
    Case(
        "domains_are_bought",
        "three installed, one of them kept spare: two systems of two domains work",
        lambda: formulation_of(
            [SMALL],
            ON_NINE[:1],
            sites=[Site("site", TEST_POD, installed_systems={"nine": 3})],
            rules=policy(spare_systems=1),
        ),
        "domains_are_bought[nine]: 2 systems[site,nine] - domains[nine] = -4",
    ),
    Case(
        "domains_are_bought",
        "one installed, three to be kept spare: two more are bought before the first works",
        lambda: formulation_of(
            [SMALL],
            ON_NINE[:1],
            sites=[Site("site", TEST_POD, installed_systems={"nine": 1})],
            rules=policy(spare_systems=3),
        ),
        "domains_are_bought[nine]: 2 systems[site,nine] - 4 kind_is_used[nine] - domains[nine] = 0",
    ),
    Case(
        "kinds_are_counted",
        "41 long sequences, 20 a node: three nodes and the spare one are all that any plan needs",
        lambda: formulation_of(
            [service_class("long", context=131_072, concurrency=41)], [AT_BF16], rules=policy(spare_systems=1)
        ),
        "kinds_are_counted[node-8]: systems[site,node-8] - 4 kind_is_used[node-8] <= 0",
    ),
    Case(
        "systems_fit_pods",
        "Pods of one kind and mixed Pods",
        lambda: formulation_of([LONG, AGENTS], [AT_BF16, ON_RACK], rules=policy(mixed_pods=True)),
        """
        systems_fit_pods[site,node-8]: systems[site,node-8] - 16 pods[site,0] - 7 pods[site,2] <= 0
        systems_fit_pods[site,rack-72]: systems[site,rack-72] - pods[site,1] - pods[site,2] <= 0
        """,
    ),
    Case(
        "systems_fit_pods",
        "with three installed systems and two installed Pods, which may also stay empty",
        lambda: formulation_of(
            [LONG], [AT_BF16], sites=[Site("site", TEST_POD, installed_systems={"node-8": 3}, installed_pods=2)]
        ),
        "systems_fit_pods[site,node-8]: systems[site,node-8] - 16 pods[site,0] - 16 installed_pods[site,0] <= -3",
    ),
    Case(
        "installed_pods_stand",
        "two, filled or empty",
        lambda: formulation_of([LONG], [AT_BF16], sites=[Site("site", TEST_POD, installed_pods=2)]),
        "installed_pods_stand[site]: installed_pods[site,0] + installed_pods[site,1] = 2",
    ),
    Case(
        "pods_fit_site",
        "one site that states positions, one that does not",
        lambda: formulation_of(
            [LONG, AGENTS], [AT_BF16, ON_RACK], sites=[Site("north", TEST_POD, pods=5), Site("south", TEST_POD)]
        ),
        "pods_fit_site[north]: pods[north,0] + pods[north,1] <= 5",
    ),
    Case(
        "pods_fit_site",
        "installed Pods take positions",
        lambda: formulation_of([LONG], [AT_BF16], sites=[Site("site", TEST_POD, pods=5, installed_pods=2)]),
        "pods_fit_site[site]: pods[site,0] + installed_pods[site,0] + installed_pods[site,1] <= 5",
    ),
    Case(
        "power_fits_site",
        "provisioned: whole Pods",
        lambda: formulation_of([LONG], [AT_BF16], sites=[Site("site", POD_WITH_PLANT, power_kw=Fraction(4500))]),
        "power_fits_site[site]: 1000 pods[site,0] <= 4500",
    ),
    Case(
        "power_fits_site",
        "installed: nameplates and balance of plant, those that are there already taken off",
        lambda: formulation_of(
            [LONG],
            [AT_BF16],
            sites=[Site("site", POD_WITH_PLANT, power_kw=Fraction(4500), installed_systems={"node-8": 2})],
            rules=policy(power_basis="installed"),
        ),
        "power_fits_site[site]: 10.2 systems[site,node-8] + 5 pods[site,0] <= 4479.6",
    ),
    Case(
        "liquid_heat_fits_site",
        "three fifths of the plant's heat go to liquid, none of the node's; 800 kW lie between two sums, 0.6 kW apart",
        lambda: formulation_of(
            [LONG, AGENTS], [AT_BF16, ON_RACK], sites=[Site("site", POD_WITH_PLANT, liquid_kw=Fraction(800))]
        ),
        "liquid_heat_fits_site[site]: 127.8 systems[site,rack-72] + 3 pods[site,0] + 3 pods[site,1] <= 800.1",
    ),
    Case(
        "air_heat_fits_site",
        "the rest goes to air; the limit may be exceeded in steps of 50 kW",
        lambda: formulation_of(
            [LONG, AGENTS],
            [AT_BF16, ON_RACK],
            sites=[Site("site", POD_WITH_PLANT, air_kw=Fraction(650))],
            slack=Slack({("air_heat", "site"): Fraction(50)}),
        ),
        "air_heat_fits_site[site]: 10.2 systems[site,node-8] + 14.2 systems[site,rack-72] "
        "+ 2 pods[site,0] + 2 pods[site,1] - 50 excess[0] <= 650",
    ),
    Case(
        "systems_are_supplied",
        "over all sites, each kind that is limited",
        lambda: formulation_of(
            [LONG, AGENTS],
            [AT_BF16, ON_RACK],
            sites=[Site("north", TEST_POD), Site("south", TEST_POD)],
            rules=policy(supply={"rack-72": 2}),
        ),
        "systems_are_supplied[rack-72]: systems[north,rack-72] + systems[south,rack-72] <= 2",
    ),
)


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.statement}: {case.about}")
def test_rows_of_a_statement(case: Case) -> None:
    assert lines(rows_of(case.build(), STATEMENT[case.statement])) == lines(case.rows)


def test_no_statement_lacks_a_case() -> None:
    assert {case.statement for case in CASES if case.rows} == set(STATEMENT)


@pytest.mark.parametrize("state", STATEMENTS, ids=lambda state: state.__name__)
def test_a_statement_has_one_name(state: Callable[[Formulation], None]) -> None:
    """Its constraint is called as its rule is, and its docstring speaks of variables by the names that they have."""
    rows = rows_of(whole_program(), state) + "\n" + rows_of(whole_program("installed"), state)
    assert any(row.startswith(f"{state.__name__}[") for row in rows.splitlines())
    assert state.__doc__
    named = set(re.findall(r"([a-z_]+)\[", state.__doc__)) - {"unserved"}  # which is there only with slack
    assert named
    assert named <= {variable.split("[")[0] for variable in rows.split() if "[" in variable}


def test_the_program_is_its_statements() -> None:
    """`formulate` adds every statement, in order, and nothing else."""
    one, other = whole_program(), whole_program()
    for state in STATEMENTS:
        state(one)
    assert all_rows(formulate(other.sets, other.contents)) == all_rows(one)


def test_variables() -> None:
    assert lines(variables_of(whole_program())) == lines(
        """
        pods[site,0]: whole, 0..
        pods[site,1]: whole, 0..
        pods[site,2]: whole, 0..
        installed_pods[site,0]: whole, 0..
        installed_pods[site,1]: whole, 0..
        installed_pods[site,2]: whole, 0..
        installed_pods[site,3]: whole, 0..
        systems[site,node-8]: whole, 0..3
        systems[site,rack-72]: whole, 0..2
        kind_is_used[node-8]: whole, 0..1
        kind_is_used[rack-72]: whole, 0..1
        domains[node-8]: real, 0..
        domains[rack-72]: real, 0..
        replicas[node-8/dense-70b/bf16/bf16/tp8]: whole, 0..
        replicas[node-8/dense-70b/bf16/fp8/tp8]: whole, 0..
        replicas[rack-72/latent-671b/fp8/bf16/tp1-adp8]: whole, 0..
        served[0]: whole, 0..
        served[1]: whole, 0..
        served[2]: whole, 0..
        served[3]: whole, 0..
        served_at[0]: whole, 0..1
        served_at[1]: whole, 0..1
        served_at[2]: whole, 0..1
        served_at[3]: whole, 0..1
        pools[0]: whole, 0..
        pools[1]: whole, 0..
        """
    )


def test_fractional_contents() -> None:
    """Shares of a pool of 874,092,587,008 bytes for sequences of 1,342,177,280 and 42,949,672,960; and whole counts."""
    formulation = formulation_of([CHAT, LONG], [AT_BF16], contents=FractionalContents())
    name = AT_BF16.id
    assert lines(all_rows(formulation)) == [
        f"contents_fit_bytes[{name}]: 0.00153551 sequences[{name},chat] + 0.0491363 sequences[{name},long] "
        f"- used_pools[{name}] <= 0",
        f"contents_fit_whole[{name},chat]: sequences[{name},chat] - 12 used_pools[{name}] <= 0",
        f"contents_fit_whole[{name},long]: sequences[{name},long] - 20 used_pools[{name}] <= 0",
    ]
    assert lines(rows_of(formulation, STATEMENT["served_fits_pools"], STATEMENT["pools_fit_replicas"])) == [
        f"served_fits_pools[0]: served[0] - sequences[{name},chat] <= 0",
        f"served_fits_pools[1]: served[1] - sequences[{name},long] <= 0",
        f"pools_fit_replicas[{name}]: used_pools[{name}] - replicas[{name}] <= 0",
    ]


def test_replicas_are_whole_in_the_stronger_relaxation() -> None:
    weak, strong = (
        variables_of(formulation_of([LONG], [AT_BF16], contents=FractionalContents(whole_replicas=whole)))
        for whole in (False, True)
    )
    assert f"replicas[{AT_BF16.id}]: real, 0.." in weak
    assert f"replicas[{AT_BF16.id}]: whole, 0.." in strong
    assert f"used_pools[{AT_BF16.id}]: real, 0.." in strong
