"""One GPU: its memory by label and by driver, its bandwidth and its dense arithmetic."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sizing.units.amounts import GB
from sizing.units.figures import Figure

HbmBasis = Literal["label", "driver"]


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU as its data sheet and its driver describe it. None is unknown, never zero.

    `hbm_label_gb` is the vendor's label in decimal GB, `hbm_driver_bytes` what nvidia-smi or amd-smi report in all,
    `dense_tflops` by number format ("bf16", "fp8", "fp4"), without sparsity.
    """

    name: str
    title: str
    vendor: str
    generation: str
    memory_kind: str
    hbm_label_gb: Figure[Fraction]
    hbm_driver_bytes: Figure[int] | None
    hbm_tb_s: Figure[Fraction] | None
    dense_tflops: Mapping[str, Figure[Fraction]]
    tdp_w: Figure[Fraction] | None

    def hbm_bytes(self, basis: HbmBasis) -> int | None:
        """Bytes of one GPU on a basis; None where the driver's figure is unknown."""
        if basis == "label":
            return int(self.hbm_label_gb.value * GB)
        return None if self.hbm_driver_bytes is None else self.hbm_driver_bytes.value

    @property
    def ridge_flop_per_byte(self) -> Fraction | None:
        """Dense 16-bit FLOPS over HBM bandwidth: below it, a kernel is limited by memory."""
        flops = self.dense_tflops.get("bf16")
        if flops is None or self.hbm_tb_s is None:
            return None
        return flops.value / self.hbm_tb_s.value
