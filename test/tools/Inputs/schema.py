"""schema.py SCHEMA.json [FILE...]: holds JSON documents (standard input without a
file) against a schema. Knows the part of JSON Schema that the schemas here use
and refuses one that uses more."""

import json
import sys

TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "null": lambda v: v is None,
}
KNOWN = {"$schema", "title", "type", "enum", "required", "properties", "additionalProperties", "items", "minimum", "maximum"}


def check(value, schema, path, errors):
    unknown = set(schema) - KNOWN
    if unknown:
        sys.exit(f"the schema uses {unknown}, which this checker does not know")
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(TYPES[t](value) for t in types):
        errors.append(f"{path}: expected {' or '.join(types)}, got {value!r}")
        return
    if "enum" in schema and value not in schema["enum"]:
        errors.append(f"{path}: expected one of {schema['enum']}, got {value!r}")
    if TYPES["number"](value):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            errors.append(f"{path}: {value} is out of range")
    if isinstance(value, dict):
        check_object(value, schema, path, errors)
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            check(item, schema["items"], f"{path}[{i}]", errors)


def check_object(value, schema, path, errors):
    for name in schema.get("required", []):
        if name not in value:
            errors.append(f"{path}: expected a member '{name}'")
    known = schema.get("properties", {})
    extra = schema.get("additionalProperties", True)
    for name, member in value.items():
        if name in known:
            check(member, known[name], f"{path}.{name}", errors)
        elif extra is False:
            errors.append(f"{path}: unexpected member '{name}'")
        elif isinstance(extra, dict):
            check(member, extra, f"{path}.{name}", errors)


def refuse(constant):
    raise ValueError(f"{constant} is no JSON")


def violations(document, schema):
    errors = []
    check(json.loads(document, parse_constant=refuse), schema, "$", errors)
    return errors


def main():
    with open(sys.argv[1]) as file:
        schema = json.load(file)
    documents = [open(path).read() for path in sys.argv[2:]] or [sys.stdin.read()]
    errors = [error for document in documents for error in violations(document, schema)]
    sys.exit("\n".join(errors) if errors else 0)


if __name__ == "__main__":
    main()
