"""The documentation and the stored schema against the models."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import jsonschema
import pytest

from trasgo_lib.config import (
    documented_collection_keys,
    documented_keys,
    documented_query_keys,
    json_schema,
    json_schema_text,
    load_config,
)
from trasgo_lib.config.document import read_document
from trasgo_lib.config.faults import flow_text
from trasgo_lib.config.keys import collection_models, models_by_pattern
from trasgo_lib.errors import Fault, Reason

ROOT = Path(__file__).resolve().parents[3]
README = ROOT / "configs" / "README.md"
ROW = re.compile(r"^\| `([^`]+)` \| (.+?) \| (.+?) \| `(.+)` \|$", re.M)


def _rows() -> dict[str, tuple[str, str, str]]:
    rows = ROW.findall(README.read_text(encoding="utf-8"))
    assert len(rows) == len({row[0] for row in rows}), "a key is documented twice"
    return {key: (default, meaning, example) for key, default, meaning, example in rows}


def test_every_key_is_documented_and_every_documented_key_exists() -> None:
    assert set(_rows()) == documented_keys() | documented_query_keys() | documented_collection_keys()


def test_documented_defaults_are_those_of_the_models() -> None:
    rows = _rows()
    for pattern, model in (models_by_pattern() | collection_models()).items():
        for name, field in model.model_fields.items():
            key = "".join(
                part if part == "[]" else f".{part}" for part in (*pattern, name) if not part.startswith("?")
            ).lstrip(".")
            default = rows[key][0]
            if field.is_required():
                assert "needed" in default or default == "`noised`", key
            elif field.default is not None and field.default_factory is None:
                assert f"`{flow_text(field.default)}`" in default, key
            else:
                assert default in ("none", "its defaults"), key


def test_every_key_has_a_description_and_an_example() -> None:
    for model in (*models_by_pattern().values(), *collection_models().values()):
        for name, field in model.model_fields.items():
            assert field.description, f"{model.__name__}.{name}"
            assert field.examples, f"{model.__name__}.{name}"


def test_the_stored_schema_is_the_models_schema() -> None:
    stored = ROOT / "trasgo_lib" / "config" / "release.schema.json"
    assert stored.read_text(encoding="utf-8") == json_schema_text()


def test_the_module_writes_the_schema_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``python -m trasgo_lib.config``, as CONTRIBUTING says."""
    monkeypatch.setattr("trasgo_lib.config.__main__.SCHEMA_FILE", tmp_path / "schema.json")
    importlib.import_module("trasgo_lib.config.__main__").main()
    assert (tmp_path / "schema.json").read_text(encoding="utf-8") == json_schema_text()


def test_the_whole_file_of_the_documentation_loads_and_fits_the_schema(tmp_path: Path) -> None:
    text = re.search(r"```yaml\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    assert text is not None
    path = tmp_path / "release.yaml"
    path.write_text(text.group(1), encoding="utf-8")
    loaded = load_config(path)
    jsonschema.Draft202012Validator.check_schema(json_schema())
    jsonschema.validate(json.loads(json.dumps(loaded.document.value)), json_schema())


@pytest.mark.parametrize("change", [{"format": 2}, {"columns": []}, {"extra": 1}, {"privacy": {"epsilon_total": 8.0}}])
def test_the_schema_refuses_what_the_models_refuse(change: dict[str, object]) -> None:
    text = re.search(r"```yaml\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    assert text is not None
    value = json.loads(json.dumps(read_document(text.group(1)).value)) | change
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value, json_schema())


def test_loaded_config_places_faults_and_paths(tmp_path: Path) -> None:
    text = re.search(r"```yaml\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    assert text is not None
    path = tmp_path / "release.yaml"
    path.write_text("\ufeff" + text.group(1), encoding="utf-8")
    loaded = load_config(path)
    fault = loaded.fault(Reason.BAD_DOMAIN, ("columns", 0, "domain", "step"), required="r", came="c", fix="f")
    assert (fault.where, fault.line) == ("columns[wage].domain.step", 6)
    moved = loaded.placed(Fault(Reason.INTERNAL, "elsewhere", "r", "c", "f", rows=3), ("columns", 1, "name"))
    assert (moved.where, moved.line, moved.rows) == ("columns[region].name", 8, 3)
    assert loaded.resolve("data/x.csv") == (tmp_path / "data/x.csv").resolve()
    assert loaded.path.is_absolute()
    assert len(loaded.text_digest) == 64
