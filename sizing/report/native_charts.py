"""Native charts of the workbook, drawn from its cells so that they follow them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from xlsxwriter import Workbook

from sizing.report.cells import Reference
from sizing.report.places import Places

FONT = {"name": "Calibri", "size": 9, "color": "#1F2A37"}
GRID = {"visible": True, "line": {"color": "#E2E8F0"}}


@dataclass(frozen=True, slots=True)
class Series:
    """Cells with one value for each category; `color` tells what it stands for in every chart."""

    name: str
    values: Reference
    color: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars by category, stacked or side by side; `axis` is what they measure."""

    title: str
    axis: str
    categories: Reference
    series: Sequence[Series]
    kind: Literal["stacked", "clustered"] = "stacked"
    number_format: str = "#,##0"


def native_chart(workbook: Workbook, chart: Chart, places: Places) -> Any:
    """The chart as the file holds it."""
    native = workbook.add_chart({"type": "bar", "subtype": "stacked"} if chart.kind == "stacked" else {"type": "bar"})
    categories = list(places.area(chart.categories))
    for series in chart.series:
        native.add_series(
            {
                "name": series.name,
                "categories": categories,
                "values": list(places.area(series.values)),
                "fill": {"color": series.color},
                "gap": 60,
            }
        )
    native.set_title({"name": chart.title, "name_font": {**FONT, "size": 12, "bold": True}, "overlay": False})
    native.set_y_axis({"num_font": FONT, "reverse": True, "crossing": "max"})
    native.set_x_axis(
        {
            "name": chart.axis,
            "name_font": {**FONT, "bold": False},
            "num_font": FONT,
            "num_format": chart.number_format,
            "major_gridlines": GRID,
            "min": 0,
        }
    )
    native.set_legend({"position": "bottom", "font": FONT} if len(chart.series) > 1 else {"none": True})
    return native
