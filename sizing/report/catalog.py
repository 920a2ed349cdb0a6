"""Catalog entries on the screen: one line an entry, or one entry with every figure and where it comes from."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from sizing.pool.storage import IdealStorage
from sizing.report.grid import Column, bullets, paragraph, table
from sizing.report.sources import Source, SourcedFigure, sourced_figures, sources_of
from sizing.report.text import UNKNOWN, amount
from sizing.sequence.model import ModelShape
from sizing.sequence.sharding import WHOLE
from sizing.units.amounts import GIB

BF16 = IdealStorage(Fraction(16))
Entry = Mapping[str, Any]
Cell = Callable[[Entry], str]


def _figure(key: str) -> Cell:
    """The value of a figure; `a.b` is the figure b of the mapping a."""

    def cell(entry: Entry) -> str:
        node: Any = entry
        for part in key.split("."):
            node = (node or {}).get(part)
        return UNKNOWN if node is None else amount(Fraction(str(node["value"])))

    return cell


def _text(key: str) -> Cell:
    return lambda entry: _written(entry.get(key, ""))


def _driver_gib(entry: Entry) -> str:
    figure = entry.get("hbm_driver_bytes")
    return UNKNOWN if figure is None else f"{figure['value'] / GIB:,.1f}"


def _gpus(entry: Entry) -> str:
    domains = entry["domains_per_system"]
    return f"{entry['domain_gpus']}" if domains == 1 else f"{domains} x {entry['domain_gpus']}"


def _findings(verdict: str) -> Cell:
    return lambda entry: str(sum(found["verdict"] == verdict for found in entry.get("evidence", ())))


def _missing(entry: Entry) -> str:
    return ", ".join(entry.get("missing", ()))


LISTS: Mapping[str, tuple[tuple[Column, Cell], ...]] = {
    "gpus": (
        (Column("HBM GB by label", number=True), _figure("hbm_label_gb")),
        (Column("GiB by driver", number=True), _driver_gib),
        (Column("TB/s", number=True), _figure("hbm_tb_s")),
        (Column("bf16 TFLOPS", number=True), _figure("dense_tflops.bf16")),
        (Column("TDP W", number=True), _figure("tdp_w")),
        (Column("generation"), _text("generation")),
        (Column("missing"), _missing),
    ),
    "systems": (
        (Column("GPUs", number=True), _gpus),
        (Column("GPU"), _text("gpu")),
        (Column("nameplate kW", number=True), _figure("nameplate_kw")),
        (Column("kW to liquid", number=True), _figure("liquid_kw")),
        (Column("status"), _text("status")),
        (Column("missing"), _missing),
    ),
    "models": (
        (Column("parameters", number=True), _text("parameters")),
        (Column("active", number=True), _text("active_parameters")),
        (Column("bytes/token, bf16", number=True), _text("kv_bytes_per_token")),
        (Column("context", number=True), _text("context_limit")),
        (Column("weights"), _text("weights")),
    ),
    "precisions": (
        (Column("bits", number=True), _figure("bits")),
        (Column("findings for", number=True), _findings("for")),
        (Column("against", number=True), _findings("against")),
        (Column("GPU generations"), _text("generations")),
        (Column("also known as"), _text("aliases")),
    ),
    "pods": (
        (Column("GPU slots", number=True), _figure("gpu_slots")),
        (Column("power kW", number=True), _figure("power_kw")),
        (Column("PUE", number=True), _figure("pue")),
        (Column("liquid kW", number=True), _figure("liquid_kw")),
        (Column("air kW", number=True), _figure("air_kw")),
        (Column("cooling"), _text("cooling")),
        (Column("missing"), _missing),
    ),
    "engines": ((Column("storage"), _text("title")),),
}
"""What the list of a section shows of an entry beside its name."""


def computed(model: ModelShape) -> dict[str, int]:
    """What follows from a model's shape and stands in no entry; bytes per token are those of a cache in bf16."""
    return {
        "parameters": model.parameters,
        "active_parameters": model.active_parameters,
        "kv_bytes_per_token": int(model.bytes_per_token(WHOLE, BF16)),
    }


def catalog_list(section: str, entries: Mapping[str, Entry]) -> str:
    """One line an entry."""
    shown = [(column, cell) for column, cell in LISTS[section] if any(cell(entry) for entry in entries.values())]
    columns = [Column("name"), *(column for column, _ in shown)]
    rows = [[name, *(cell(entry) for _, cell in shown)] for name, entry in entries.items()]
    return f"{table(columns, rows)}\n\nOne entry with its sources: sizing catalog {section} NAME\n"


def catalog_entry(section: str, name: str, entry: Entry) -> str:
    """One entry: its figures and findings with range, confidence, remark and sources, and what is missing."""
    references = _References()
    sections = [
        paragraph(name if entry["title"] == name else f"{name}: {entry['title']}"),
        bullets([f"{key}: {_written(value)}" for key, value in entry.items() if _is_plain(key, value)]),
        _listed("Layers", [_layer(layer) for layer in entry.get("layers", ())]),
        _listed("Layers for multi-token prediction", [_layer(layer) for layer in entry.get("mtp", ())]),
        _listed("Read from", _imported(entry.get("imported") or {})),
        _listed("Runs on", _supports(entry.get("supports") or {}, references)),
        _figures(list(sourced_figures({section: {name: {**entry, "supports": None}}})), references),
        _listed("Note", [entry["note"]] if entry.get("note") else []),
        _listed("Sources", references.lines()),
    ]
    return "\n\n".join(text for text in sections if text) + "\n"


class _References:
    """Sources, numbered as they are first cited."""

    def __init__(self) -> None:
        self._numbers: dict[Source, int] = {}

    def cite(self, sources: Sequence[Source]) -> str:
        return " ".join(f"[{self._numbers.setdefault(source, len(self._numbers) + 1)}]" for source in sources)

    def lines(self) -> list[str]:
        return [
            f"[{number}] {source.title}, {source.date or 'undated'}: {source.address}"
            for source, number in self._numbers.items()
        ]


def _figures(figures: Sequence[SourcedFigure], references: _References) -> str:
    if not figures:
        return ""
    columns = [
        Column("figure"),
        Column("value", number=True),
        Column("range"),
        Column("confidence"),
        Column("read on"),
        Column("sources"),
        Column("remark"),
    ]
    rows = [
        [
            figure.figure,
            "" if figure.value is None else f"{_written(figure.value)} {figure.unit}".rstrip(),
            "" if figure.low is None else f"{_written(figure.low)} to {_written(figure.high)}",
            figure.confidence,
            figure.date,
            references.cite(figure.sources),
            figure.remark,
        ]
        for figure in figures
    ]
    kept = [position for position in range(len(columns)) if any(row[position] for row in rows)]
    return table([columns[position] for position in kept], [[row[position] for position in kept] for row in rows])


def _layer(layer: Entry) -> str:
    mixers, after = (layer["attention"], *layer.get("also", ())), layer["feed_forward"]
    parts = [f"{part['kind']} ({_pairs(part, 'kind')})".removesuffix(" ()") for part in (*mixers, after)]
    return f"{layer['count']} x {' with '.join(parts[:-1])}, then {parts[-1]}"


def _supports(supports: Entry, references: _References) -> list[str]:
    """What an engine runs on, and what is not known of it."""
    if not supports:
        return []

    def cited(found: Entry) -> str:
        return ", ".join(f"{name} {references.cite(sources_of({'sources': each}))}" for name, each in found.items())

    lines = []
    for what, key in (("GPUs of", "vendors"), ("KV cache in", "kv_precisions")):
        lines.append(f"{what} {cited(supports[key])}" if supports.get(key) else f"{what}: not known, and not checked")
    for weights, generations in supports.get("weights_unsupported", {}).items():
        lines.append(f"not with {weights} weights on {cited(generations)}")
    other = "other weights" if supports.get("weights_unsupported") else "weights"
    return [*lines, f"{other}: not known, and not checked"]


def _imported(imported: Entry) -> list[str]:
    """The file that a shape was read from, and what the reader of the file had to say."""
    if not imported:
        return []
    notes = [str(note) for note in imported.get("notes", ())]
    return [*(f"{key}: {_written(value)}" for key, value in imported.items() if key != "notes"), *notes]


def _pairs(node: Entry, but: str) -> str:
    return ", ".join(f"{key} {_written(value)}" for key, value in node.items() if key != but)


def _is_plain(key: str, value: Any) -> bool:
    if value is None or key in ("name", "title", "note", "sources", "date", "confidence"):
        return False
    return not isinstance(value, Mapping) and not (isinstance(value, list) and value and isinstance(value[0], Mapping))


def _written(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return amount(Fraction(str(value)))
        case Mapping() | list() | tuple():
            return ", ".join(str(part) for part in value)
        case None:
            return UNKNOWN
    return str(value)


def _listed(heading: str, sentences: Sequence[str]) -> str:
    return f"{heading}\n{bullets(sentences)}" if sentences else ""
