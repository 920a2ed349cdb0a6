"""GPUs: `gpus.yaml` -> Gpu."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from sizing.catalog.border import Entry, Name, Text
from sizing.catalog.figures import BytesFigure, Missing, PositiveFigure, WithMissing, figure, optional_figure
from sizing.pool.gpu import Gpu

Generation = Literal["ampere", "ada", "hopper", "blackwell", "rubin", "cdna3", "cdna4", "cdna5", "gaudi3"]


class DenseTflops(Entry):
    """Dense arithmetic by number format, without sparsity."""

    bf16: PositiveFigure | None = None
    fp8: PositiveFigure | None = None
    int8: PositiveFigure | None = None
    fp4: PositiveFigure | None = None


class GpuEntry(WithMissing):
    """One GPU. Its HBM label is the one figure that it cannot do without."""

    title: Text
    vendor: Name
    generation: Generation
    memory_kind: Name
    hbm_label_gb: PositiveFigure
    hbm_driver_bytes: BytesFigure | None = None
    hbm_tb_s: PositiveFigure | None = None
    dense_tflops: DenseTflops = Field(default_factory=DenseTflops)
    tdp_w: PositiveFigure | None = None
    note: Text = ""
    missing: Missing = Field(default_factory=dict)


ENTRY = GpuEntry
REFERENCES: Mapping[str, str] = {}


def build(name: str, entry: GpuEntry) -> Gpu:
    """The GPU as the physics takes it."""
    return Gpu(
        name=name,
        title=entry.title,
        vendor=entry.vendor,
        generation=entry.generation,
        memory_kind=entry.memory_kind,
        hbm_label_gb=figure("hbm_label_gb", entry.hbm_label_gb),
        hbm_driver_bytes=optional_figure("hbm_driver_bytes", entry.hbm_driver_bytes),
        hbm_tb_s=optional_figure("hbm_tb_s", entry.hbm_tb_s),
        dense_tflops={
            number_format: figure("dense_tflops", value)
            for number_format, value in entry.dense_tflops
            if value is not None
        },
        tdp_w=optional_figure("tdp_w", entry.tdp_w),
    )
