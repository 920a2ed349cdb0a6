"""`price_usd` of systems and Pods: a figure like any other, which the shipped entries lack."""

from fractions import Fraction
from pathlib import Path

import pytest

from sizing.catalog.catalog import Catalog
from sizing.facility.prices import Price, Prices
from sizing.units.errors import BadInput

SOURCES = "quotation: {title: A quotation, address: by mail, date: 2026-11}\n"
FIGURE = "sources: [quotation], date: 2026-11-12, confidence: high"


def overlay(folder: Path, systems: str = "", pods: str = "") -> Catalog:
    for name, text in (("sources", SOURCES), ("systems", systems), ("pods", pods)):
        if text:
            (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return Catalog([folder])


def test_the_shipped_entries_have_none() -> None:
    catalog = Catalog()
    assert all(catalog.system(name).price_usd is None for name in catalog.names("systems"))
    assert all(catalog.pod(name).price_usd is None for name in catalog.names("pods"))


def test_an_overlay_gives_them(tmp_path: Path) -> None:
    catalog = overlay(
        tmp_path,
        f"hgx-h200-8: {{price_usd: {{value: 310_000, range: [295_000, 320_000.5], {FIGURE}}}}}\n",
        f"podos-1mw: {{price_usd: {{value: 0, {FIGURE}}}}}\n",
    )
    assert Prices().of_system(catalog.system("hgx-h200-8")) == Price(Fraction(295_000), Fraction("320000.5"))
    assert Prices().of_pod(catalog.pod("podos-1mw")) == Price(Fraction(0), Fraction(0))
    entry = catalog.entry("systems", "hgx-h200-8")["price_usd"]
    assert (entry["value"], entry["unit"], entry["sources"][0]["title"]) == (310_000, "USD", "A quotation")


@pytest.mark.parametrize(
    ("figure", "path", "what"),
    [
        ("310000", "hgx-h200-8.price_usd", "is not a mapping"),
        (f"{{value: -1, {FIGURE}}}", "hgx-h200-8.price_usd.value", "must not be negative"),
        (f"{{value: 310_000 USD, {FIGURE}}}", "hgx-h200-8.price_usd.value", "no unit is written here"),
        (f"{{value: 5, range: [6, 7], {FIGURE}}}", "hgx-h200-8.price_usd.range", "does not hold the value"),
        (f"{{value: '4,5', {FIGURE}}}", "hgx-h200-8.price_usd.value", "commas are not read"),
    ],
)
def test_what_is_no_price(tmp_path: Path, figure: str, path: str, what: str) -> None:
    with pytest.raises(BadInput) as caught:
        overlay(tmp_path, f"hgx-h200-8: {{price_usd: {figure}}}\n")
    (problem,) = caught.value.problems
    assert problem.path == path
    assert what in problem.what
