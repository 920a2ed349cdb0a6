import pytest

from sizing.units.amounts import in_steps


@pytest.mark.parametrize(
    ("count", "unit", "said"),
    [
        (5_109, "0.1 kW", "510.9 kW"),
        (1, "kinds", "1 kind"),
        (1, "Pods", "1 Pod"),
        (32_970, "sequence steps", "32,970 sequence steps"),
        (3, "500 USD", "1,500 USD"),
        (0, "kinds", "0 kinds"),
    ],
)
def test_whole_numbers_of_steps_are_said_as_people_do(count: int, unit: str, said: str) -> None:
    assert in_steps(count, unit) == said
