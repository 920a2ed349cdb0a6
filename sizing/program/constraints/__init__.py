"""The constraints of the program, one module a subject. A new limit is one statement here and one line in the check."""

from collections.abc import Callable

from sizing.program.constraints.demand import classes_keep_one_precision, demand_is_served, served_fits_pools
from sizing.program.constraints.packing import (
    domains_are_bought,
    kinds_are_counted,
    pools_fit_replicas,
    replicas_fit_domains,
)
from sizing.program.constraints.pods import installed_pods_stand, systems_fit_pods
from sizing.program.constraints.site import (
    air_heat_fits_site,
    liquid_heat_fits_site,
    pods_fit_site,
    power_fits_site,
    systems_are_supplied,
)
from sizing.program.formulation import Formulation

STATEMENTS_OF_A_MODEL: tuple[Callable[[Formulation], None], ...] = (
    demand_is_served,
    served_fits_pools,
    classes_keep_one_precision,
    pools_fit_replicas,
)
"""Those about the replicas and classes of one model; all others are about what models share or what is bought."""

STATEMENTS: tuple[Callable[[Formulation], None], ...] = (
    *STATEMENTS_OF_A_MODEL,
    replicas_fit_domains,
    domains_are_bought,
    kinds_are_counted,
    systems_fit_pods,
    installed_pods_stand,
    pods_fit_site,
    power_fits_site,
    liquid_heat_fits_site,
    air_heat_fits_site,
    systems_are_supplied,
)
