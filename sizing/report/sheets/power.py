"""Sheet `Power and cooling`: limits, kinds of system, sites, and Pods run by run with what stands in them."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from sizing.facility.system import System
from sizing.plan.inventory import bought_pods, bought_systems
from sizing.plan.plan import Limit
from sizing.report.assumed import assumed
from sizing.report.cautions import balance_sentences
from sizing.report.cells import (
    NOT_SETTLED,
    OK,
    Accepts,
    Cell,
    Input,
    Reference,
    Value,
    added,
    at,
    check,
    formula,
    if_known,
    span,
    sum_if_known,
    times_known,
)
from sizing.report.page import Column, Page, Row
from sizing.report.pod_use import PodUse
from sizing.report.reported import Reported
from sizing.report.sheets.balance import PLANT, balanced, billed, plant_rows
from sizing.report.styles import Style
from sizing.report.text import NOT_GIVEN, UNKNOWN
from sizing.report.unsettled import LITTLE_ROOM, not_counted_against

LIMITS, KINDS, SITES, HERE, RUNS, STANDING = "limits", "kinds", "sites", "here", "runs", "standing"
ALL_PODS = "all pods"
ZERO = Fraction(0)

LIMIT_COLUMNS = (
    Column("Limit", most=30, key="limit"),
    Column("Site", most=20),
    Column("Unit", most=12),
    Column("Used", style=Style.DECIMALS, key="used"),
    Column("Allowed", style=Style.DECIMALS, key="allowed"),
    Column("Used of limit", style=Style.SHARE, key="share"),
    Column("Unknown power", "rows of Balance of plant", Style.COUNT, key="unknown"),
    Column("Check", most=14, key="check"),
    Column("Binds, as planned", most=30),
    Column("Remark", style=Style.RUN_ON),
)
KIND_COLUMNS = (
    Column("System", most=30),
    Column("Cooling", most=20),
    Column("Systems", style=Style.COUNT, key="systems"),
    Column("Domains", style=Style.COUNT, key="domains"),
    Column("GPUs", style=Style.COUNT, key="gpus"),
    Column("In replicas", "GPUs", Style.COUNT, key="used"),
    Column("Idle", "GPUs", Style.COUNT, key="idle"),
    Column("Nameplate each", "kW", Style.TWO_DECIMALS, key="each"),
    Column("Nameplate", "kW", Style.ONE_DECIMAL, key="kw"),
    Column("Heat to liquid", "kW", Style.ONE_DECIMAL, key="liquid"),
    Column("Heat to air", "kW", Style.ONE_DECIMAL, key="air"),
    Column("Check", most=14, key="check"),
)
SITE_COLUMNS = (
    Column("Site", most=30),
    Column("Pod", most=20),
    Column("Pods", style=Style.COUNT, key="pods"),
    Column("Installed", style=Style.COUNT, key="installed"),
    Column("To buy", style=Style.COUNT, key="to_buy"),
    Column("Check", most=20, key="check"),
)
HERE_COLUMNS = (
    Column("Site", most=30),
    Column("System", most=20),
    Column("Systems", style=Style.COUNT, key="systems"),
    Column("Installed", style=Style.COUNT, key="installed"),
    Column("To buy", style=Style.COUNT, key="to_buy"),
    Column("Check", most=20, key="check"),
)
RUN_COLUMNS = (
    Column("Site", most=30),
    Column("Pods", most=20, key="label"),
    Column("Number of Pods", style=Style.COUNT, key="count"),
    Column("GPU slots", style=Style.COUNT, key="slots"),
    Column("GPUs", style=Style.COUNT, key="gpus"),
    Column("Slots free", style=Style.COUNT, key="free"),
    Column("Slots stranded", style=Style.COUNT, key="stranded"),
    Column("Systems", "kW", Style.ONE_DECIMAL, key="systems_kw"),
    Column("Balance of plant", "kW", Style.ONE_DECIMAL, key="balance_kw"),
    Column("Power for IT", "kW", Style.ONE_DECIMAL, key="it_kw"),
    Column("Power left", "kW", Style.ONE_DECIMAL, key="left_kw"),
    Column("Used of power", style=Style.SHARE, key="share"),
    Column("Heat to liquid", "kW", Style.ONE_DECIMAL, key="liquid"),
    Column("Liquid cooling", "kW", Style.ONE_DECIMAL, key="liquid_limit"),
    Column("Heat to air", "kW", Style.ONE_DECIMAL, key="air"),
    Column("Air cooling", "kW", Style.ONE_DECIMAL, key="air_limit"),
    Column("Check", most=20, key="check"),
)
ALL_COLUMNS = (
    Column("Site", most=30),
    Column("Pods", most=20),
    Column("Against power", "kW", Style.ONE_DECIMAL, key="power"),
    Column("Heat to liquid", "kW", Style.ONE_DECIMAL, key="liquid"),
    Column("Heat to air", "kW", Style.ONE_DECIMAL, key="air"),
    Column("Balance of plant", "kW", Style.ONE_DECIMAL, key="balance"),
    Column("Of it to liquid", "kW", Style.ONE_DECIMAL, key="balance_liquid"),
    Column("Slots free", style=Style.COUNT, key="free"),
    Column("Slots stranded", style=Style.COUNT, key="stranded"),
    Column("Taken for installed", "Pods", Style.COUNT, key="taken"),
)
STANDING_COLUMNS = (
    Column("Site", most=30),
    Column("Pods", most=20),
    Column("System", most=26),
    Column("In each Pod", "systems", Style.COUNT, key="each"),
    Column("When full", "systems", Style.COUNT, key="full"),
    Column("In all", "systems", Style.COUNT, key="all"),
    Column("GPUs of a Pod", style=Style.COUNT, key="gpus"),
    Column("GPUs when full", style=Style.COUNT, key="full_gpus"),
    Column("Nameplate of a Pod", "kW", Style.ONE_DECIMAL, key="kw"),
    Column("To liquid", "kW a Pod", Style.ONE_DECIMAL, key="liquid"),
    Column("To air", "kW a Pod", Style.ONE_DECIMAL, key="air"),
    Column("Check", most=20, key="check"),
)


def write(page: Page, reported: Reported) -> None:
    """Limits, systems, sites, then one row for every run of equal Pods; the figures of a Pod are of one."""
    plan = reported.plan
    page.title(
        "Power and cooling",
        "Nameplate power, never derated. Heat to liquid and to air at nameplate.",
        f"Pods count against the power of a site as {plan.request.policy.power_basis}.",
    )
    page.table(LIMIT_COLUMNS, (_limit(reported, limit) for limit in plan.limits), name=LIMITS)
    page.section("Systems")
    page.table(KIND_COLUMNS, _kinds(reported), name=KINDS)
    page.section("Pods of each site")
    page.table(SITE_COLUMNS, _sites(reported), name=SITES)
    page.section("Systems of each site")
    page.table(HERE_COLUMNS, _here(reported), name=HERE)
    page.section("Pods: figures of one Pod")
    page.table(RUN_COLUMNS, (_run(reported, run, use) for run, use in enumerate(reported.runs)), name=RUNS)
    page.section("Pods: all that are equal")
    page.table(ALL_COLUMNS, (_all(reported, run, use) for run, use in enumerate(reported.runs)), name=ALL_PODS)
    page.section("What stands in the Pods")
    page.table(STANDING_COLUMNS, _standing(reported), name=STANDING)
    page.notes("Balance of plant", balance_sentences(plan, reported.bill))


def members(use: PodUse) -> tuple[str, ...]:
    """Kinds of system that stand in a run of Pods, or would when it is full."""
    return tuple(sorted({name for name, _ in (*use.filled.systems, *use.filled.fill.systems)}))


def _limit(reported: Reported, limit: Limit) -> Row:
    plan = reported.plan
    allowed: Cell
    used: Cell
    known: Value
    if limit.site is None:
        system = limit.name.removeprefix("supply:")
        used = added(_of_kind(reported, "to_buy", system), limit.used)
        allowed = Input(limit.limit, Accepts.COUNT)
        known = limit.used
    else:
        column = LIMITED.get(limit.name)
        runs = [run for run, use in enumerate(reported.runs) if use.site.name == limit.site]
        used = known = used_of(reported, limit)
        if runs:
            cells = span(RUNS, "count", runs) if column is None else span(ALL_PODS, column, runs)
            used = formula(sum_if_known("each"), known, each=cells)
        value: Value = NOT_GIVEN if limit.limit is None else limit.limit
        text = 'IF(ISBLANK({asked}),"blank",{asked})'
        allowed = formula(text, value, asked=assumed("site", limit.site, limit.name))
    unknown, lacking = _unknown_power(reported, limit)
    return Row(
        (
            limit.name if limit.site is None or len(plan.request.sites) == 1 else f"{limit.name}, {limit.site}",
            limit.site or "all sites",
            limit.unit,
            used,
            allowed,
            formula(
                'IF(ISNUMBER({allowed})*ISNUMBER({used})*(N({allowed})>0),{used}/{allowed},"")',
                share_of(reported, limit),
            ),
            unknown,
            _check_of_a_limit(limit, known, lacking),
            "yes: one more would exceed it" if limit.binding else "no",
            formula('IF({unknown}>0,"without the parts of unknown power","")', _without(lacking)),
        ),
        highlighted=limit.binding,
        key=(limit.name, limit.site),
    )


def _without(lacking: int) -> str:
    return "without the parts of unknown power" if lacking else ""


def used_of(reported: Reported, limit: Limit) -> Value:
    """What the Pods of a site take of a limit; unknown where the heat of a system is."""
    uses = [use for use in reported.runs if use.site.name == limit.site]
    heats = {"liquid_heat": [use.liquid_kw for use in uses], "air_heat": [use.air_kw for use in uses]}
    return UNKNOWN if None in heats.get(limit.name, []) else limit.used


def share_of(reported: Reported, limit: Limit) -> Value:
    """What is used of what is allowed; blank where that cannot be said."""
    used = limit.used if limit.site is None else used_of(reported, limit)
    return "" if not limit.limit or isinstance(used, str) or used is None else Fraction(used) / limit.limit


def _unknown_power(reported: Reported, limit: Limit) -> tuple[Cell, int]:
    """Rows of the balance of plant that ought to count against a limit of a site, and whose power is unknown."""
    ruled = [pods for pods in balanced(reported) if pods.use.site.name == limit.site]
    meant = {"power": "", "liquid_heat": "*({share}>0)", "air_heat": "*({share}<1)"}.get(limit.name)
    provisioned = limit.name == "power" and reported.plan.request.policy.power_basis == "provisioned"
    keys = [(pods.run, line.name) for pods in ruled for line in pods.lines]
    if meant is None or provisioned or not keys:
        return 0, 0
    lacking = sum(
        not_counted_against(line, limit.name) and line.rule.quantity(pods.full) * pods.use.filled.count > 0
        for pods in ruled
        for line in pods.lines
    )
    cells = {
        key: span(PLANT, column, keys) for key, column in (("built", "quantity"), ("kw", "kw"), ("share", "share"))
    }
    return formula(f"SUMPRODUCT(({{built}}>0)*(1-ISNUMBER({{kw}})){meant})", lacking, **cells), lacking


def _check_of_a_limit(limit: Limit, used: Value, lacking: int) -> Cell:
    """Kept, exceeded, or not settled: parts of unknown power, and little room for them (`tight_limit_sentences`)."""
    left = None if limit.limit is None or isinstance(used, str) else limit.limit - limit.used
    tight = f"{{left}}<{float(LITTLE_ROOM)}*{{allowed}}".replace("{left}", "({allowed}-{used})")
    if limit.binding and left is not None:
        tight = f"OR({tight},{{allowed}}-{{used}}<={float(left)!r}+0.000001)"
    text = (
        f'IF(ISNUMBER({{allowed}}),IF(ISNUMBER({{used}}),IF({{used}}>{{allowed}}+0.000001,"exceeded",'
        f'IF({{unknown}}>0,IF({tight},"{NOT_SETTLED}","{OK}"),"{OK}")),"{UNKNOWN}"),'
        f'IF({{allowed}}="{NOT_GIVEN}","{OK}","not a number"))'
    )
    return check(text, state_of(limit, used, lacking))


def state_of(limit: Limit, used: Value, lacking: int) -> str:
    """What the check of a limit says of the plan as it is."""
    if limit.limit is None:
        return OK
    if isinstance(used, str):
        return UNKNOWN
    left = limit.limit - limit.used
    return NOT_SETTLED if lacking and (limit.binding or left < LITTLE_ROOM * limit.limit) else OK


def states(reported: Reported) -> dict[tuple[str, str | None], str]:
    """What the check of every limit says of the plan as it is, by (name, site)."""
    return {
        (limit.name, limit.site): state_of(limit, used_of(reported, limit), _unknown_power(reported, limit)[1])
        for limit in reported.plan.limits
    }


def _of_kind(reported: Reported, column: str, system: str) -> list[Reference]:
    """Cells of a kind of system, site by site."""
    return [at(HERE, column, (site, name)) for site, name in here(reported) if name == system]


def here(reported: Reported) -> tuple[tuple[str, str], ...]:
    """(site, kind of system) that stand in Pods or are installed."""
    standing = {(use.site.name, name) for use in reported.runs for name in members(use)}
    installed = {(site.name, name) for site in reported.sites for name in site.installed_systems}
    return tuple(sorted(standing | installed))


def _kinds(reported: Reported) -> Iterator[Row]:
    plan = reported.plan
    counts = dict(plan.systems)
    for name, system in reported.kinds.items():
        yield _kind(reported, system, counts.get(name, 0))
    totals = plan.totals
    sums: tuple[tuple[str, Value], ...] = (
        ("systems", totals.systems),
        ("domains", totals.domains),
        ("gpus", totals.gpus),
        ("used", totals.gpus - totals.idle_gpus),
        ("idle", totals.idle_gpus),
    )
    heat: tuple[tuple[str, Value], ...] = (
        ("kw", totals.nameplate_kw),
        ("liquid", _known(totals.liquid_kw)),
        ("air", _known(totals.air_kw)),
    )
    yield Row(
        (
            "All systems",
            None,
            *(formula("SUM({each})", value, each=Reference(KINDS, key)) for key, value in sums),
            None,
            *(formula(sum_if_known("each"), value, each=Reference(KINDS, key)) for key, value in heat),
            None,
        ),
        is_sum=True,
        key="all",
    )


def _kind(reported: Reported, system: System, count: int) -> Row:
    name = system.name
    used = sum(planned.gpus for planned in reported.plan.deployments if planned.deployment.system.name == name)
    runs = [(run, name) for run, use in enumerate(reported.runs) if name in members(use)]
    replicas = [
        at("deployments", "gpus", number)
        for number, planned in reported.deployments
        if planned.deployment.system.name == name
    ]
    nameplate = system.nameplate_kw.value if system.nameplate_kw else None
    liquid = system.liquid_kw.value if system.liquid_kw else None
    domains = {"size": assumed("system", name, "domain_gpus"), "domains_each": assumed("system", name, "domains")}
    heat = assumed("system", name, "liquid_kw")
    return Row(
        (
            name,
            system.cooling,
            added([at(STANDING, "all", key) for key in runs], count),
            formula("{systems}*{domains_each}", count * system.domains_per_system, **domains),
            formula("{domains}*{size}", count * system.gpus, **domains),
            added(replicas, used),
            formula("{gpus}-{used}", count * system.gpus - used),
            formula(if_known("figure"), _known(nameplate), figure=assumed("system", name, "nameplate_kw")),
            formula(times_known("{systems}", "each"), _times(nameplate, count)),
            formula(times_known("{systems}", "figure"), _times(liquid, count), figure=heat),
            formula(
                f'IF(ISNUMBER({{figure}})*ISNUMBER({{each}}),{{systems}}*({{each}}-{{figure}}),"{UNKNOWN}")',
                _times(system.air_kw, count),
                figure=heat,
            ),
            check(
                'IF({used}>MAX(0,{systems}-{spare})*{domains_each}*{size},"too few GPUs",'
                "IF(ISNUMBER({heat})*ISNUMBER({each})*(N({heat})>N({each})+0.000001),"
                '"more heat to liquid than nameplate","ok"))',
                "ok",
                spare=assumed("policy", "spare_systems"),
                heat=heat,
                **domains,
            ),
        ),
        key=name,
    )


def _sites(reported: Reported) -> Iterator[Row]:
    bought = bought_pods(reported.plan.request, reported.plan.pods)
    for site in reported.sites:
        runs = [run for run, use in enumerate(reported.runs) if use.site.name == site.name]
        pods = sum(reported.runs[run].filled.count for run in runs)
        installed: Cell = 0
        if site.installed_pods:
            installed = formula("{asked}", site.installed_pods, asked=assumed("site", site.name, "installed"))
        yield Row(
            (
                site.name,
                site.pod.name,
                formula("SUM({each})", pods, each=span(RUNS, "count", runs)) if runs else 0,
                installed,
                formula("MAX(0,{pods}-{installed})", bought[site.name]),
                billed(
                    reported.bought("Pods", site.pod.name),
                    [at(SITES, "to_buy", other.name) for other in reported.sites if other.pod.name == site.pod.name],
                ),
            ),
            key=site.name,
        )


def _here(reported: Reported) -> Iterator[Row]:
    bought = bought_systems(reported.plan.request, reported.plan.pods)
    sites = {site.name: site for site in reported.sites}
    for site, name in here(reported):
        runs = [(run, name) for run, use in enumerate(reported.runs) if use.site.name == site and name in members(use)]
        count = sum(
            use.filled.count * dict(use.filled.systems).get(name, 0) for use in reported.runs if use.site.name == site
        )
        installed: Cell = 0
        if sites[site].installed(name):
            asked = assumed("site", site, "installed", name)
            installed = formula("{asked}", sites[site].installed(name), asked=asked)
        yield Row(
            (
                site,
                name,
                added([at(STANDING, "all", key) for key in runs], count),
                installed,
                formula("MAX(0,{systems}-{installed})", bought[site, name]),
                billed(reported.bought("Systems", name), _of_kind(reported, "to_buy", name)),
            ),
            key=(site, name),
        )


def _run(reported: Reported, run: int, use: PodUse) -> Row:
    filled, balance, pod, site = use.filled, use.filled.fill.balance, use.pod.name, use.site
    kinds = [(run, name) for name in members(use)]
    plant = plant_rows(reported, run)

    def of_kinds(text: str, value: Value, column: str) -> Cell:
        return formula(text, value, each=span(STANDING, column, kinds)) if kinds else value

    def of_plant(column: str, value: Fraction) -> Cell:
        return formula("SUM({each})", value, each=span(PLANT, column, plant)) if plant else value

    liquid, air = _added(use.liquid_kw, balance.liquid_kw), _added(use.air_kw, balance.air_kw)
    both = use.systems_kw + balance.kw
    power = {"input": assumed("pod", pod, "power_kw")}
    pue = {"pue": assumed("pod", pod, "pue")} if use.pod.pue else {}
    free: Cell = use.free_slots
    if kinds:
        full = {"full": span(STANDING, "full", kinds), "full_gpus": span(STANDING, "full_gpus", kinds)}
        free = formula("IF(SUM({full})=0,{slots},SUM({full_gpus})-{gpus})", use.free_slots, **full)
    values: tuple[Cell, ...] = (
        site.name,
        use.numbers,
        Input(filled.count, Accepts.COUNT, decision=True),
        formula("{figure}", use.slots, figure=assumed("pod", pod, "gpu_slots")),
        of_kinds("SUM({each})", use.gpus, "gpus"),
        free,
        formula("{slots}-{gpus}-{free}", use.stranded_slots),
        of_kinds(sum_if_known("each"), use.systems_kw, "kw"),
        of_plant("kw_pod", balance.kw),
        formula(_it_power(bool(pue)), use.pod.it_power_kw, **power, **pue),
        formula(
            f'IF(ISNUMBER({{it_kw}})*ISNUMBER({{systems_kw}}),{{it_kw}}-{{systems_kw}}-{{balance_kw}},"{UNKNOWN}")',
            use.pod.it_power_kw - both,
        ),
        formula('IF(ISNUMBER({left_kw})*(N({it_kw})>0),1-{left_kw}/{it_kw},"")', both / use.pod.it_power_kw),
        _with_balance("liquid", liquid, kinds, plant, balance.liquid_kw),
        formula(
            if_known("figure"), _known(site.liquid_kw_per_pod), figure=assumed("site", site.name, "pod_liquid_heat")
        ),
        _with_balance("air", air, kinds, plant, balance.air_kw),
        formula(if_known("figure"), _known(site.air_kw_per_pod), figure=assumed("site", site.name, "pod_air_heat")),
        check(CHECK_OF_A_POD, state_of_pod(use)),
    )
    return Row(values, key=run)


LIMITED = {"power": "power", "liquid_heat": "liquid", "air_heat": "air"}
"""Columns of what all Pods of a run take of a limit; positions are counted by Pods."""


def state_of_pod(use: PodUse) -> str:
    """What the check of a Pod says of the plan as it is: heat that is unknown may exceed a limit that is known."""
    heats = (use.liquid_kw, use.site.liquid_kw_per_pod), (use.air_kw, use.site.air_kw_per_pod)
    return UNKNOWN if any(heat is None and limit is not None for heat, limit in heats) else OK


def _it_power(has_pue: bool) -> str:
    """The power at the input of a Pod over its PUE, where it has one."""
    if has_pue:
        return f'IF(ISNUMBER({{input}})*(N({{pue}})>0),{{input}}/{{pue}},"{UNKNOWN}")'
    return if_known("input")


CHECK_OF_A_POD = (
    'IF({free}<0,"more than when full",IF({stranded}<0,"more GPUs than slots",'
    f'IF(1-ISNUMBER({{left_kw}}),"{UNKNOWN}",IF({{left_kw}}<-0.000001,"more power than the Pod has",'
    f'IF(ISNUMBER({{liquid_limit}})*(1-ISNUMBER({{liquid}}))+ISNUMBER({{air_limit}})*(1-ISNUMBER({{air}})),"{UNKNOWN}",'
    'IF(ISNUMBER({liquid})*ISNUMBER({liquid_limit})*(N({liquid})>N({liquid_limit})+0.000001),"too much heat to liquid",'
    'IF(ISNUMBER({air})*ISNUMBER({air_limit})*(N({air})>N({air_limit})+0.000001),"too much heat to air","ok")))))))'
)


def _with_balance(
    column: str, value: Value, kinds: Sequence[tuple[int, str]], plant: Sequence[tuple[int, str]], balance: Fraction
) -> Cell:
    """Heat of the systems of a Pod and of its balance of plant; unknown where that of a system is."""
    if not kinds:
        return value
    plants = "SUM({plant})" if plant else repr(float(balance))
    text = f'IF(COUNT({{each}})=ROWS({{each}}),SUM({{each}})+{plants},"{UNKNOWN}")'
    cells = {"each": span(STANDING, column, kinds)}
    if plant:
        cells["plant"] = span(PLANT, f"{column}_pod", plant)
    return formula(text, value, **cells)


def _all(reported: Reported, run: int, use: PodUse) -> Row:
    """What all Pods of a run take together; against power as the policy counts them (decision 5)."""
    count, balance = use.filled.count, use.filled.fill.balance
    both = use.systems_kw + balance.kw
    liquid, air = _added(use.liquid_kw, balance.liquid_kw), _added(use.air_kw, balance.air_kw)
    plant = plant_rows(reported, run)
    cells = {key: at(RUNS, key, run) for key in ("count", "systems_kw", "balance_kw")}
    if reported.plan.request.policy.power_basis == "provisioned":
        supply = assumed("pod", use.pod.name, "power_kw")
        power = formula(times_known("{count}", "supply"), count * use.pod.power_kw.value, supply=supply, **cells)
    else:
        text = f'IF(ISNUMBER({{systems_kw}}),{{count}}*({{systems_kw}}+{{balance_kw}}),"{UNKNOWN}")'
        power = formula(text, count * both, **cells)
    balance_liquid: Cell = count * balance.liquid_kw
    if plant:
        part = span(PLANT, "liquid_pod", plant)
        balance_liquid = formula("{count}*SUM({part})", count * balance.liquid_kw, part=part, **cells)
    values: tuple[Cell, ...] = (
        use.site.name,
        use.numbers,
        power,
        *(
            formula(times_known("{count}", "figure"), _times(heat, count), figure=at(RUNS, key, run), **cells)
            for key, heat in (("liquid", liquid), ("air", air))
        ),
        formula("{count}*{balance_kw}", count * balance.kw, **cells),
        balance_liquid,
        *(
            formula("{count}*{slots}", count * slots, slots=at(RUNS, key, run), **cells)
            for key, slots in (("free", use.free_slots), ("stranded", use.stranded_slots))
        ),
        _taken(reported, run, use),
    )
    return Row(values, key=run)


def _taken(reported: Reported, run: int, use: PodUse) -> Cell:
    """How many of a run are taken for installed Pods: what other runs of the site before it leave."""
    order = [other for other, _ in reported.runs_with_installed if reported.runs[other].site.name == use.site.name]
    before = order[: order.index(run)]
    taken = dict(reported.runs_with_installed)[run]
    if not use.site.installed_pods:
        return taken
    cells = {f"before_{place}": at(ALL_PODS, "taken", other) for place, other in enumerate(before)}
    less = "".join(f"-{{{name}}}" for name in cells)
    stands, count = assumed("site", use.site.name, "installed"), at(RUNS, "count", run)
    return formula(f"MIN({{count}},MAX(0,{{stands}}{less}))", taken, stands=stands, count=count, **cells)


def _standing(reported: Reported) -> Iterator[Row]:
    for run, use in enumerate(reported.runs):
        for name in members(use):
            system = reported.kinds[name]
            each, full = dict(use.filled.systems).get(name, 0), use.filled.fill.count(name)
            gpus = {"size": assumed("system", name, "domain_gpus"), "domains": assumed("system", name, "domains")}
            nameplate, heat = assumed("system", name, "nameplate_kw"), assumed("system", name, "liquid_kw")
            kw = system.nameplate_kw.value if system.nameplate_kw else None
            liquid = system.liquid_kw.value if system.liquid_kw else None
            values: tuple[Cell, ...] = (
                use.site.name,
                use.numbers,
                name,
                Input(each, Accepts.COUNT, decision=True),
                Input(full, Accepts.COUNT, decision=True),
                formula("{each}*{count}", each * use.filled.count, count=at(RUNS, "count", run)),
                formula("{each}*{size}*{domains}", each * system.gpus, **gpus),
                formula("{full}*{size}*{domains}", full * system.gpus, **gpus),
                formula(times_known("{each}", "figure"), _times(kw, each), figure=nameplate),
                formula(times_known("{each}", "figure"), _times(liquid, each), figure=heat),
                formula(
                    f'IF(ISNUMBER({{heat}})*ISNUMBER({{figure}}),{{each}}*({{figure}}-{{heat}}),"{UNKNOWN}")',
                    _times(system.air_kw, each),
                    heat=heat,
                    figure=nameplate,
                ),
                check('IF({each}<={full},"ok","more than when full")', "ok"),
            )
            yield Row(values, key=(run, name))


def _known(value: Fraction | None) -> Value:
    return UNKNOWN if value is None else value


def _times(value: Value, count: int) -> Value:
    return UNKNOWN if value is None or isinstance(value, str) else value * count


def _added(value: Fraction | None, more: Fraction) -> Value:
    return UNKNOWN if value is None else value + more
