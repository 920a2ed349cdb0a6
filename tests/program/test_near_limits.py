"""Limits within a solver's tolerance of what is needed, and pools in which everything fits."""

from fractions import Fraction

import pytest

from sizing.facility.site import Site
from sizing.program.constraints.site import between_sums
from sizing.program.deployments import enumerate_options
from sizing.program.exact import NotFound
from sizing.program.fillings import Fillings
from sizing.program.search import Found, search
from sizing.program.solver import Effort
from tests.plan_builders import NODE, TEST_POD, TINY, request, service_class


@pytest.mark.parametrize(("power_kw", "fits"), [("1000", True), ("999.999999", False), ("1000.0000001", True)])
def test_a_limit_just_below_the_need_is_too_little(power_kw: str, fits: bool) -> None:
    site = Site("site", TEST_POD, power_kw=Fraction(power_kw))
    asked = request([service_class("one")], [NODE], [site])
    found = search(asked, enumerate_options(asked).candidates, Effort())
    assert isinstance(found, Found if fits else NotFound)


def test_a_right_side_lies_on_a_sum_or_halfway_between_two() -> None:
    uses = [Fraction("127.8"), Fraction(3)]
    assert between_sums(Fraction(800), uses) == pytest.approx(800.1)
    assert between_sums(Fraction("799.8"), uses) == pytest.approx(799.8)
    assert between_sums(Fraction(5), []) == 5


def test_where_everything_fits_there_is_one_maximal_pattern_and_no_walk_through_the_others() -> None:
    classes = [service_class(f"c{number}", TINY, 100 + number, 1_000) for number in range(12)]
    asked = request(classes, [NODE])
    candidate = enumerate_options(asked).candidates[-1]
    demands = {service.name: service.demand for service in classes}
    assert Fillings(most=1, steps=100).of(candidate, demands) == [tuple(sorted(demands.items()))]
