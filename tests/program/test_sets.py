"""The index sets, and what fewer candidates leave of them."""

import pyomo.environ as pyo

from sizing.facility.site import Site
from sizing.program.contents import PatternContents
from sizing.program.exact import formulate
from sizing.program.formulation import Formulation
from sizing.program.objective import STAGES
from sizing.program.patterns import Columns
from sizing.program.solver import Effort, Minimiser
from tests.plan_builders import DENSE_70B, LATENT_671B, NODE, TEST_POD, deployment, policy, service_class
from tests.program.formulations import AT_BF16, LONG, ON_RACK, formulation_of

MIXED = policy(mixed_pods=True)
SITE = Site("site", TEST_POD, pods=5, installed_pods=2)
AGENTS = service_class("agents", LATENT_671B, 65_536, 34, ("fp8",))


def both() -> Formulation:
    patterns = [[(("long", 20),)], [(("agents", 34),)]]
    return formulation_of([LONG, AGENTS], [AT_BF16, ON_RACK], patterns=patterns, sites=[SITE], rules=MIXED)


def test_one_kind_has_fills_of_its_own_and_a_restricted_program_has_all() -> None:
    sets = both().sets
    assert any(len(fill.kinds) > 1 for fill in sets.fills["site"])
    alone, restricted = sets.of_kinds([NODE.name]), sets.restricted([AT_BF16.id])
    assert list(alone.systems) == list(restricted.systems) == [NODE.name]
    assert [list(fill.kinds) for fill in alone.fills["site"]] == [[NODE.name]]
    assert restricted.fills == sets.fills


def test_a_restricted_program_takes_over_pods_that_are_filled_for_the_sake_of_one_kind() -> None:
    """Both installed Pods are of two kinds, and only nodes stand in them: the start has to keep them."""
    everything = both()
    model = everything.model
    fills = everything.sets.installed_fills["site"]
    mixed = next(number for number, fill in enumerate(fills) if len(fill.kinds) > 1)
    for variable in model.component_data_objects(pyo.Var):
        variable.set_value(0)
    model.installed_pods["site", mixed].set_value(2)
    part = everything.sets.restricted([AT_BF16.id])
    columns = Columns({AT_BF16.id: [(("long", 20),)]}, complete=False)
    minimiser = Minimiser(formulate(part, PatternContents(columns)), Effort())
    minimiser.start_from(everything)
    kept = minimiser.formulation.model.installed_pods
    assert sum(variable.value for variable in kept.values()) == 2


def test_deployments_of_one_kind_are_searched_with_its_systems_only() -> None:
    at_four = deployment(NODE, DENSE_70B, tp=4)
    sets = formulation_of([LONG, AGENTS], [AT_BF16, at_four, ON_RACK], sites=[SITE]).sets
    assert {c.deployment.id for c in sets.of_kinds([NODE.name]).candidates} == {AT_BF16.id, at_four.id}
    assert [c.deployment.id for c in sets.restricted([at_four.id]).candidates] == [at_four.id]
    assert STAGES["gpus"].step(formulate(sets.of_kinds([NODE.name]), PatternContents(Columns({}, complete=False)))) == 8
