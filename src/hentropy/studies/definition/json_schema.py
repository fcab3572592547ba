"""The published JSON Schema of study files, for editors that complete and check them."""

from typing import Any

from hentropy.studies.definition.schema import Description

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a study file; what only a store may hold (`own`) is left out."""
    schema = Description.model_json_schema()
    del schema["properties"]["own"]
    del schema["$defs"]["Own"]
    decision = schema["properties"]["decision"]
    decision["oneOf"] = [form for form in decision["oneOf"] if form != {"$ref": "#/$defs/Own"}]
    one_of = [{"required": ["space"]}, {"required": ["pool"]}]
    return {"$schema": DIALECT, **schema, "oneOf": one_of}
