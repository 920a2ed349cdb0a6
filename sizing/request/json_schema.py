"""The JSON Schema of a workload file, for editors: completion, descriptions and first checks while one types."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from sizing.request.objective import STAGES
from sizing.request.schema import Workload
from sizing.sequence.weights import FORMATS

if TYPE_CHECKING:
    from sizing.catalog.catalog import Catalog

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _WrittenKeys(GenerateJsonSchema):
    """A key that is written has a value: the None of a key that is left out is no choice."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Defaults stand in the descriptions, written as people write them."""
        return self.generate_inner(schema["schema"])


def workload_schema(catalog: "Catalog | None" = None) -> dict[str, Any]:
    """The JSON Schema; with a catalog, its names are offered for completion (others stay valid)."""
    schema = Workload.model_json_schema(schema_generator=_WrittenKeys)
    definitions = schema["$defs"]
    keys = {name: definitions[name]["properties"] for name in definitions}
    _offer(keys["PolicyEntry"]["objective"], STAGES)
    _offer(keys["ClassEntry"]["weights"], FORMATS, closed=True)
    if catalog is not None:
        _offer(keys["ClassEntry"]["model"], catalog.names("models"))
        _offer(keys["ClassEntry"]["kv_precision"], catalog.names("precisions"))
        _offer(keys["PolicyEntry"]["systems"], catalog.names("systems"))
        _offer(keys["PolicyEntry"]["engine"], catalog.names("engines"))
        for site in ("SiteEntry", "NamedSiteEntry"):
            _offer(keys[site]["pod"], catalog.names("pods"))
        for entry, key, section in (
            ("PolicyEntry", "supply", "systems"),
            ("PricesEntry", "systems", "systems"),
            ("PricesEntry", "pods", "pods"),
            ("InstalledEntry", "systems", "systems"),
        ):
            named = keys[entry][key]
            named["properties"] = dict.fromkeys(catalog.names(section), named["additionalProperties"])
    return {"$schema": DIALECT, **schema, "not": {"required": ["site", "sites"]}}


def _offer(schema: dict[str, Any], names: Iterable[str], closed: bool = False) -> None:
    """Offer `names` wherever `schema` takes a text: as the only ones, or beside any other."""
    choices: dict[str, Any] = {"enum": list(names)}
    for inner in (schema, schema.get("items", {}), *schema.get("anyOf", ())):
        if inner.get("type") == "string":
            if closed:
                inner.update(choices)
            else:
                inner["anyOf"] = [choices, {"type": inner.pop("type")}]
        elif inner is not schema and "items" in inner:
            _offer(inner, choices["enum"], closed)
