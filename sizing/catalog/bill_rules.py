"""Bill rules: `bill_rules.yaml` -> BillRules. The `quantity` of a line is one of a closed set, told apart by `rule`."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from sizing.catalog.border import Count, Entry, Flag, Name, Names, PositiveCount, PowerKw, Share, Text
from sizing.catalog.figures import (
    Confidence,
    Date,
    DecimalFigure,
    Missing,
    ShareFigure,
    Sources,
    WithMissing,
    optional_figure,
)
from sizing.facility.bill_rules import BillRules, RuleLine
from sizing.facility.network import Attachment, Network
from sizing.facility.quantities import (
    CoolantUnits,
    Links,
    Optics,
    PerGpu,
    PerPod,
    PerRack,
    PerSystem,
    QuantityRule,
    RackLimit,
    Racks,
    Switches,
)
from sizing.facility.selection import Selection
from sizing.units.errors import shown
from sizing.units.names import nearest
from sizing.units.quantities import NotAccepted


def _positive_power(value: Fraction) -> Fraction:
    if value == 0:
        raise NotAccepted("must be more than 0", "a power above 0")
    return value


def _part_of_one(value: Fraction) -> Fraction:
    if value > 1:
        raise NotAccepted("is more than the whole", "a share of at most 100 %")
    return value


PositivePower = Annotated[PowerKw, AfterValidator(_positive_power)]


class SelectionEntry(Entry):
    """Which systems are meant; what is left out asks nothing."""

    form: Literal["node", "rack"] | None = None
    cooling: Literal["air", "liquid"] | None = None
    vendors: Names | None = None
    gpus: Names | None = None

    def selection(self) -> Selection:
        return Selection(
            form=self.form,
            cooling=self.cooling,
            vendors=None if self.vendors is None else frozenset(self.vendors),
            gpus=None if self.gpus is None else frozenset(self.gpus),
        )


class AttachmentEntry(Entry):
    """Ports of a system, or of every `gpus` GPUs of it."""

    systems: SelectionEntry = SelectionEntry()
    ports: Count
    gpus: PositiveCount | None = None
    ports_per_optic: PositiveCount = 1

    def attachment(self) -> Attachment:
        return Attachment(self.systems.selection(), self.ports, self.gpus, self.ports_per_optic)


class NetworkEntry(Entry):
    """One network of a Pod."""

    tiers: Literal["1", "2"]
    switch_ports: PositiveCount
    attachments: Annotated[tuple[AttachmentEntry, ...], Field(min_length=1)]
    at_least: PositiveCount = 1
    pod_ports: Count = 0
    ports_per_optic: PositiveCount = 1
    unit_ports: PositiveCount = 1

    @model_validator(mode="after")
    def _half_goes_up(self) -> "NetworkEntry":
        if self.tiers == "2" and self.switch_ports % (2 * self.ports_per_optic):
            raise NotAccepted(
                f"half of {self.switch_ports} ports are no whole optics",
                "switch_ports that two halves of optics make up",
            )
        return self

    def network(self, name: str) -> Network:
        return Network(
            name=name,
            tiers=int(self.tiers),
            switch_ports=self.switch_ports,
            attachments=tuple(entry.attachment() for entry in self.attachments),
            at_least=self.at_least,
            pod_ports=self.pod_ports,
            ports_per_optic=self.ports_per_optic,
            unit_ports=self.unit_ports,
        )


class RackLimitEntry(Entry):
    """What one rack takes of the systems meant."""

    systems: SelectionEntry = SelectionEntry()
    units: PositiveCount | None = None
    kw: PositivePower | None = None
    most: PositiveCount | None = None

    @model_validator(mode="after")
    def _is_limited(self) -> "RackLimitEntry":
        if self.units is None and self.kw is None and self.most is None:
            raise NotAccepted("limits nothing", "units, kw or most")
        return self

    def limit(self) -> RackLimit:
        return RackLimit(self.systems.selection(), self.units, self.kw, self.most)


class PerPodEntry(Entry):
    """`count` for a Pod that holds any of the systems meant."""

    rule: Literal["per_pod"]
    count: PositiveCount
    systems: SelectionEntry = SelectionEntry()


class PerSystemEntry(Entry):
    """`count` for each of the systems meant."""

    rule: Literal["per_system"]
    count: PositiveCount
    systems: SelectionEntry = SelectionEntry()


class PerGpuEntry(Entry):
    """`count` for each GPU of the systems meant."""

    rule: Literal["per_gpu"]
    count: PositiveCount
    systems: SelectionEntry = SelectionEntry()


class SwitchesEntry(Entry):
    """The switches of one tier of a network."""

    rule: Literal["switches"]
    network: Name
    tier: Literal["leaf", "spine"]


class LinksEntry(Entry):
    """The cables of one tier of a network."""

    rule: Literal["links"]
    network: Name
    tier: Literal["system-leaf", "leaf-spine"]


class OpticsEntry(Entry):
    """The optics at one place of a network."""

    rule: Literal["optics"]
    network: Name
    at: Literal["system", "leaf", "spine"]


class RacksEntry(Entry):
    """Racks of a kind."""

    rule: Literal["racks"]
    racks: Name


class PerRackEntry(Entry):
    """`count` for each rack of a kind."""

    rule: Literal["per_rack"]
    count: PositiveCount
    racks: Name


class CoolantUnitsEntry(Entry):
    """Coolant distribution units for the heat to liquid, and `spare` more."""

    rule: Literal["coolant_units"]
    unit_kw: PositivePower
    spare: Count


Quantity = Annotated[
    PerPodEntry
    | PerSystemEntry
    | PerGpuEntry
    | SwitchesEntry
    | LinksEntry
    | OpticsEntry
    | RacksEntry
    | PerRackEntry
    | CoolantUnitsEntry,
    Field(discriminator="rule"),
]


class LineEntry(WithMissing):
    """One part of the bill. Sources, date and confidence are of its quantity."""

    group: Name
    manufacturer: Name
    part: Name
    description: Text
    unit: Name = "piece"
    quantity: Quantity
    sources: Sources
    date: Date
    confidence: Confidence
    unit_kw: DecimalFigure | None = None
    no_power: Text = ""
    contained: Flag = False
    liquid_share: Annotated[Share, AfterValidator(_part_of_one)] = Fraction(0)
    remark: Text = ""
    spares: ShareFigure | None = None
    missing: Missing = Field(default_factory=dict)

    @model_validator(mode="after")
    def _power_is_told_once(self) -> "LineEntry":
        if self.no_power and (self.unit_kw is not None or "unit_kw" in self.missing):
            raise NotAccepted("no_power contradicts what is said of unit_kw", "one of the two")
        if self.contained and not self.no_power:
            raise NotAccepted("a contained part is counted with its system", "no_power beside `contained: true`")
        if self.contained and self.spares is not None:
            raise NotAccepted("a contained part has no spares of its own", "no `spares` beside `contained: true`")
        return self


class BillRulesEntry(Entry):
    """One rule set: networks and kinds of rack by name, and the lines that count them."""

    title: Text
    note: Text = ""
    networks: dict[Name, NetworkEntry] = Field(default_factory=dict)
    racks: dict[Name, Annotated[tuple[RackLimitEntry, ...], Field(min_length=1)]] = Field(default_factory=dict)
    lines: dict[Name, LineEntry]

    @field_validator("lines")
    @classmethod
    def _what_lines_name_is_there(cls, lines: dict[str, LineEntry], info: ValidationInfo) -> dict[str, LineEntry]:
        for name, line in lines.items():
            for key in ("network", "racks"):
                used = getattr(line.quantity, key, None)
                known = info.data.get("networks" if key == "network" else "racks")
                if used is not None and known is not None and used not in known:
                    raise NotAccepted(
                        f"line {name} counts by {key} {shown(used)}, which is not known",
                        ", ".join(known) or "none is declared",
                        nearest(used, known),
                    )
        return lines


ENTRY = BillRulesEntry
REFERENCES: Mapping[str, str] = {}


def build(name: str, entry: BillRulesEntry) -> BillRules:
    """The rule set as the facility takes it."""
    networks = {key: network.network(key) for key, network in entry.networks.items()}
    racks = {key: Racks(key, tuple(limit.limit() for limit in limits)) for key, limits in entry.racks.items()}
    return BillRules(
        name=name,
        title=entry.title,
        lines=tuple(_line(key, line, networks, racks) for key, line in entry.lines.items()),
        note=entry.note,
    )


def _line(name: str, entry: LineEntry, networks: Mapping[str, Network], racks: Mapping[str, Racks]) -> RuleLine:
    return RuleLine(
        name=name,
        group=entry.group,
        manufacturer=entry.manufacturer,
        part=entry.part,
        description=entry.description,
        unit=entry.unit,
        rule=_rule(entry.quantity, networks, racks),
        sources=entry.sources,
        date=entry.date,
        confidence=entry.confidence,
        unit_kw=optional_figure("unit_kw", entry.unit_kw),
        no_power=entry.no_power,
        contained=entry.contained,
        liquid_share=entry.liquid_share,
        spares=optional_figure("spares", entry.spares),
        remark=" ".join([entry.remark, *entry.missing.values()]).strip(),
    )


def _rule(entry: Quantity, networks: Mapping[str, Network], racks: Mapping[str, Racks]) -> QuantityRule:
    match entry:
        case PerPodEntry():
            return PerPod(entry.count, entry.systems.selection())
        case PerSystemEntry():
            return PerSystem(entry.count, entry.systems.selection())
        case PerGpuEntry():
            return PerGpu(entry.count, entry.systems.selection())
        case SwitchesEntry():
            return Switches(networks[entry.network], entry.tier)
        case LinksEntry():
            return Links(networks[entry.network], entry.tier)
        case OpticsEntry():
            return Optics(networks[entry.network], entry.at)
        case RacksEntry():
            return racks[entry.racks]
        case PerRackEntry():
            return PerRack(entry.count, racks[entry.racks])
        case CoolantUnitsEntry():
            return CoolantUnits(entry.unit_kw, entry.spare)
