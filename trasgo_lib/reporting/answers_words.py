"""How published answers are said: the same words for the Markdown report, the page, the codebook and the how-to.

Everything is read from the public documents, ``statement.json`` and ``answers.json``, so no page can hold what they do
not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trasgo_lib.amounts import Epsilon
from trasgo_lib.budget import Cost, FixedPartitionEvent, event_from_json

Document = Mapping[str, Any]

LAWS = {
    "laplace": "discrete Laplace noise",
    "gaussian": "discrete Gaussian noise",
    "exponential": "the exponential mechanism (Gumbel noise on the scores)",
    "noisy_max": "report noisy max (exponential noise on the scores)",
    "gumbel": "Gumbel noise on the scores",
    "sparse_vector": "sparse vector (discrete Laplace noise, the threshold's drawn once)",
}
"""Laws of noise in words, by their name in the statement."""

INTERVALS = (
    "Intervals hold the figure that the office's own file gives, with a probability of 95 % or more, each by itself:"
    " of twenty, about one may miss. They count the noise that was added and nothing else: not the draw of a sample,"
    " not non-response, not errors in the file."
)
FITTED = (
    "Where a value was fitted or cut after the noise was drawn, its interval is still that of the noisy number, widened"
    " where the value would lie outside. Fitted values are closer to the truth on average, so this interval is wider"
    " than need be and never narrower."
)
WITHHELD = (
    "Where cells are withheld by their noisy count, those that are told are the ones whose noise went up more often. Of"
    " all cells, told or withheld, at most one in twenty is told with an interval that misses; of the told small ones,"
    " more can."
)
ONCE = (
    "The noise of each answer was drawn once, from the operating system's secure random numbers, and stored before it"
    " was used. It is not keyed, so nobody can draw it again, the office included; a rerun serves the stored answer."
)
MODEL_TYPES = {"logistic_regression": "Logistic regression", "network": "Fully connected network"}
"""Kinds of models in words."""

_PURE = frozenset({"quantile", "median", "minimum", "maximum", "best", "top"})


def cost_words(cost: Document) -> str:
    """An amount as the statement has it, without the components that are zero."""
    found = Cost.from_json(dict(cost))
    delta = f", delta {found.delta.text}" if found.delta.units else ""
    return f"epsilon {found.epsilon.text}{delta}"


def charged_words(statement: Document) -> str:
    """How what the answers cost adds up, in a sentence."""
    together = statement.get("charges", ())
    if not together:
        return "Each question was charged before data was looked at, in full, and is never refunded."
    said = "Questions that are charged together cost a privacy unit what their charge says, not the sum of theirs."
    names = {name for charge in together for name in charge["queries"]}
    if len(names) < len(statement["queries"]):
        said += " Each other question pays for itself, and charges add up."
    return f"All was charged before data was looked at, in full, and is never refunded. {said}"


def charge_rows(statement: Document) -> list[tuple[str, str, str, str]]:
    """Charges for several questions at once: name, questions by part, cost, and how it follows."""
    rows = []
    for charge in statement.get("charges", ()):
        parts = [f"{part['name']} ({', '.join(part['codes'])}): {', '.join(part['queries'])}"
                 for part in charge.get("parts", ())]  # fmt: skip
        asked = "; ".join(parts) or ", ".join(charge["queries"])
        rows.append((charge["name"], asked, cost_words(charge["cost"]), charge["in_words"]))
    return rows


def kept_words(statement: Document) -> str:
    """Which parts two records have to share for the bounds to hold of them; empty where membership is protected."""
    events = [event_from_json(charge["event"]) for charge in statement.get("charges", ())]
    kept = ", ".join(event.name for event in events if isinstance(event, FixedPartitionEvent))
    return f" in the same parts of {kept}" if kept else ""


def charge_of(query: Document, statement: Document) -> str:
    """What one answer cost: by itself, or as part of a charge for several."""
    cost = cost_words(query["cost"])
    for charge in statement.get("charges", ()):
        if query["name"] in charge["queries"]:
            return f"{cost} by itself; paid within {charge['name']}"
    return cost


def epsilon_of(cost: Document) -> Epsilon:
    """The epsilon of an amount."""
    return Cost.from_json(dict(cost)).epsilon


def key_words(cell: Document) -> str:
    """The cell's labels, or what a choice is of."""
    return ", ".join(str(label) for label in cell["key"].values()) or "all"


def value_words(value: object) -> str:
    """A published value as people read it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "above" if value else "not above"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.6g}"
    return str(value)


def span_words(cell: Document) -> str:
    """The interval of a cell, or nothing."""
    if cell["low"] is None or cell["high"] is None:
        return ""
    return f"{value_words(cell['low'])} to {value_words(cell['high'])}"


def answer_words(answer: Document) -> str:
    """The answer in a few words, for a list of all."""
    cells = answer["cells"]
    if answer["type"] == "above":
        above = [key_words(cell) for cell in cells if cell["value"] is True]
        return f"above: {', '.join(above)}" if above else "none above"
    if answer["type"] in _PURE:
        return ", ".join(value_words(cell["value"]) for cell in cells)
    if len(cells) > 1:
        withheld = sum(cell["value"] is None for cell in cells)
        return f"{len(cells)} numbers" + (f", {withheld} of them withheld" if withheld else "")
    (cell,) = cells
    return "withheld" if cell["value"] is None else f"{value_words(cell['value'])} ({span_words(cell)})"


def noise_sentences(query: Document) -> Iterator[str]:
    """Law, scale and sensitivity of each part of a query, one sentence each."""
    several = len(query["parts"]) > 1
    for part in query["parts"]:
        name = f"{part['name']}: " if several else ""
        claim = part["claim"]
        paid = f"rho {claim['rho']}" if "rho" in claim else f"epsilon {claim['epsilon']}"
        moves = part["sensitivity"]
        yield (
            f"{name}{LAWS[part['noise']]}, scale {part['scale']:.6g} steps, for {paid}. "
            f"Sensitivity {moves_words(part)}: {moves['words']}."
        )


def moves_words(part: Document) -> str:
    """By how much one privacy unit can move a part, in the measure that its noise goes by."""
    noise, moves = part["noise"], part["sensitivity"]
    if noise == "laplace":
        return f"{moves['l1']} in L1"
    return f"the root of {moves['l2_squared']} in L2" if noise == "gaussian" else f"{moves['largest']} at most"


def margin_words(answer: Document) -> str:
    """How far a choice can be from the best, or a count from its threshold; nothing for numbers."""
    margin = answer["margin_rows"]
    if margin is None:
        return ""
    rows = "1 row" if margin == 1 else f"{margin:,} rows"
    if answer["type"] == "above":
        return f"With 95 %, every count called above or not is right to within {rows} of the threshold."
    if answer["type"] in ("best", "top"):
        return f"With 95 %, at most {rows} lie between what was chosen and what should have been."
    return f"With 95 %, at most {rows} more lie between this value and the right place than from the best candidate."


def unit_words(document: Document) -> str:
    """Whose record is protected."""
    unit, rows = document["unit"], document["max_rows"]
    return "one row" if unit == "row" else f"one {unit}, with at most {rows} rows"


def domain_words(column: Document) -> str:
    """The declared values of a column."""
    domain = column["domain"]
    if domain["kind"] == "category":
        codes = [str(code) for code in domain["codes"]]
        shown = ", ".join(codes[:12]) + (f" and {len(codes) - 12} more" if len(codes) > 12 else "")
        return shown + (", missing" if column["missing"] == "code" else "")
    unit = f" {domain['unit']}" if domain.get("unit") else ""
    return f"{domain['lower']} to {domain['upper']}{unit}, in steps of {domain['step']}"
