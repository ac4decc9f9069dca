"""``python -m trasgo_lib.config``: write the JSON Schema of release files anew, beside this module."""

from __future__ import annotations

from pathlib import Path

from trasgo_lib.config.load import json_schema_text

SCHEMA_FILE = Path(__file__).with_name("release.schema.json")


def main() -> None:
    """Write the schema."""
    SCHEMA_FILE.write_text(json_schema_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
