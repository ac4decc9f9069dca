"""A statistical office in a folder: key, account, source, release file, and the command run in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from typer.testing import CliRunner

from flows.cli import app
from tasks.session import open_session

SOURCE_ROWS = 1200


def source_text(rows: int = SOURCE_ROWS) -> str:
    """A made-up file: age, sex and region of made-up people, a public wave, a column to drop."""
    lines = ["age,sex,region,wave,note"]
    for row in range(rows):
        age = 18 + (row * 37 + row // 7) % 60
        sex = "f" if (row * 11 + row // 3) % 5 < 2 else "m"
        region = ("north", "east", "south", "west")[(row * row + row // 5) % 4 if row % 3 else 0]
        lines.append(f"{age},{sex},{region},2026-{1 + row % 4},n{row}")
    return "\n".join(lines) + "\n"


RELEASE: dict[str, Any] = {
    "format": 1,
    "release": {"dataset": "people", "version": "1", "title": "Made-up people"},
    "source": {"path": "people.csv", "format": "csv"},
    "privacy": {"epsilon_total": "12", "account": "people", "unit": "row", "row_order": "shuffle"},
    "columns": [
        {
            "name": "age",
            "type": "number",
            "domain": {"lower": "18", "upper": "78", "step": "1", "unit": "years"},
            "outside": "clip",
            "mechanism": "laplace",
            "epsilon": "3",
        },
        {
            "name": "sex",
            "type": "category",
            "domain": {"codes": ["f", "m"]},
            "mechanism": "randomized_response",
            "target": {"tvd": "0.05"},
        },
        {
            "name": "region",
            "type": "category",
            "domain": {"codes": ["north", "east", "south", "west"]},
            "mechanism": "kary_randomized_response",
            "target": {"tvd": "0.2"},
        },
        {"name": "wave", "role": "public"},
        {"name": "note", "role": "drop"},
    ],
    "loop": {"loss_from": "original", "composition": "sequential", "start": "1", "ratio": "1.5", "on_unmet": "hold"},
    "publish": {"store": "store"},
}


@dataclass
class Answer:
    """What one call of the command said."""

    exit_code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Standard output as strict JSON."""

        def refuse(text: str) -> None:
            raise AssertionError(f"{text} is not strict JSON")

        document: dict[str, Any] = json.loads(self.out, parse_constant=refuse)
        return document

    @property
    def text(self) -> str:
        """Both streams."""
        return self.out + self.err


class Office:
    """One office; every call of the command is like a new process to our own code."""

    def __init__(self, folder: Path) -> None:
        self.folder = self.ran_in = folder  # apart where a first run is brought from elsewhere
        self.home = folder / "home"
        self.config = folder / "release.yaml"
        self.actor = "tester"
        self.release: dict[str, Any] = json.loads(json.dumps(RELEASE))
        (folder / "people.csv").write_text(source_text(), encoding="utf-8")

    @property
    def public(self) -> Path:
        """Folder of the public files of version 1."""
        return self.folder / "store" / "public" / "people" / "1"

    @property
    def restricted(self) -> Path:
        """Folder of the restricted files of version 1."""
        return self.folder / "store" / "restricted" / "people" / "1"

    def column(self, name: str) -> dict[str, Any]:
        """One column of the release file, to be changed in place."""
        column: dict[str, Any] = next(column for column in self.release["columns"] if column["name"] == name)
        return column

    def write(self) -> None:
        """Write the release file."""
        with self.config.open("w", encoding="utf-8") as stream:
            YAML(typ="safe").dump(self.release, stream)

    def trasgo(self, *arguments: str) -> Answer:
        """Run the command."""
        open_session.cache_clear()
        result = CliRunner(env={"TRASGO_HOME": str(self.home), "TRASGO_ACTOR": self.actor}).invoke(app, list(arguments))
        return Answer(result.exit_code, result.stdout, result.stderr)

    def open(self, epsilon: str = "100", **caps: str) -> None:
        """Write the release file, make a key, open the account."""
        self.write()
        declared = ["--config", str(self.config)] if "keys" in self.release else []
        answer = self.trasgo("key", "init", "--if-absent", *declared)
        assert answer.exit_code == 0, answer.text
        extra = [part for name, cap in caps.items() for part in (f"--{name.replace('_', '-')}", cap)]
        answer = self.trasgo(
            "ledger", "open", str(self.config), "--epsilon", epsilon, "--population", "made-up people", *extra
        )
        assert answer.exit_code == 0, answer.text

    def run(self, *arguments: str) -> Answer:
        """``trasgo run`` on the release file as it stands."""
        return self.trasgo("run", str(self.config), *arguments)

    def spent(self) -> str:
        """Epsilon charged to the account."""
        spent: str = self.trasgo("ledger", "show", str(self.config), "--json").json["spent"]["epsilon"]
        return spent
