import re
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sizing.cli.schema import schema as schema_command
from sizing.request.json_schema import workload_schema
from sizing.request.objective import STAGES
from sizing.request.schema import Workload
from sizing.units.quantities import (
    NotAccepted,
    parse_count,
    parse_power_kw,
    parse_share,
    parse_tokens,
)


def keys(schema: dict[str, Any], entry: str) -> dict[str, Any]:
    found: dict[str, Any] = schema["$defs"][entry]["properties"]
    return found


def test_every_key_is_described_and_no_other_is_valid() -> None:
    schema = workload_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for entry in (schema, *schema["$defs"].values()):
        assert entry["additionalProperties"] is False
        for key, described in entry["properties"].items():
            assert "description" in described or "$ref" in described, key
    assert list(schema["properties"]) == list(Workload.model_fields)


def test_a_key_that_is_written_takes_no_null() -> None:
    assert "null" not in str(workload_schema())


def test_site_or_sites() -> None:
    assert workload_schema()["not"] == {"required": ["site", "sites"]}


def test_stages_are_offered() -> None:
    one, several = keys(workload_schema(), "PolicyEntry")["objective"]["anyOf"]
    assert one["anyOf"][0]["enum"] == list(STAGES)
    assert several["items"]["anyOf"][0]["enum"] == list(STAGES)


def test_catalog_names_are_offered_and_others_stay_valid(fake_catalog: Any) -> None:
    schema = workload_schema(fake_catalog)
    offered, other = keys(schema, "ClassEntry")["model"]["anyOf"]
    assert offered == {"enum": ["dense-7b", "moe-8x1b"]}
    assert other == {"type": "string"}
    assert keys(schema, "NamedSiteEntry")["pod"]["anyOf"][0]["enum"] == ["podos-1mw", "air-pod", "both-pod"]
    assert "rack-72" in keys(schema, "PolicyEntry")["supply"]["properties"]


QUANTITIES = [
    (parse_tokens, "ClassEntry", "context"),
    (parse_count, "ClassEntry", "concurrency"),
    (parse_share, "PolicyEntry", "reserve"),
    (parse_power_kw, "SiteEntry", "power"),
]


@given(
    st.from_regex(r"[0-9]{1,3}(_[0-9]{3})?(\.[0-9])?[ \u00a0]{0,2}(k|K|M|%|W|kW|MW|GW|B|GiB|)", fullmatch=True),
    st.sampled_from(QUANTITIES),
)
def test_an_editor_marks_nothing_that_is_accepted(text: str, quantity: tuple[Any, str, str]) -> None:
    parse, entry, key = quantity
    try:
        parse(text)
    except NotAccepted:
        return
    assert re.search(keys(workload_schema(), entry)[key]["pattern"], text)


@pytest.mark.parametrize(
    ("entry", "key", "text"),
    [
        ("ClassEntry", "context", "128 tokens"),
        ("ClassEntry", "concurrency", "2k"),
        ("PolicyEntry", "reserve", "0,26"),
        ("SiteEntry", "power", "5"),
        ("SiteEntry", "power", "5 mw"),
        ("SiteEntry", "power", "-5 MW"),
    ],
)
def test_an_editor_marks_what_is_refused(entry: str, key: str, text: str) -> None:
    assert not re.search(keys(workload_schema(), entry)[key]["pattern"], text)


def test_the_command_prints_it() -> None:
    from json import loads

    result = CliRunner().invoke(schema_command, ["workload"])
    assert result.exit_code == 0
    assert "llama-3.1-70b" in keys(loads(result.stdout), "ClassEntry")["model"]["anyOf"][0]["enum"]


def test_the_command_knows_no_other_file() -> None:
    result = CliRunner().invoke(schema_command, ["plan"])
    assert result.exit_code == 2
    assert "workload" in result.output
