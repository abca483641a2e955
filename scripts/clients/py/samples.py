"""An example of a JSON schema: what the fake provider writes as arguments and as structured output."""

from typing import Any

TEXT = "Ada Lovelace"
NUMBER = 1815


def sample(schema: dict[str, Any], root: dict[str, Any] | None = None) -> Any:
    """The same value each time for the same schema."""
    root = schema if root is None else root
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return sample((root.get("$defs") or root.get("definitions") or {})[name], root)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return sample(schema[several][0], root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: sample(member, root) for name, member in (schema.get("properties") or {}).items()}
    if kind == "array":
        return [sample(schema.get("items") or {"type": "string"}, root)]
    return {"string": TEXT, "integer": NUMBER, "number": 1.5, "boolean": True}.get(kind)
