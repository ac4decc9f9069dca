"""``codelists/<column>.csv``: the closed list of codes of a column, with what they stand for and their order."""

from __future__ import annotations

import csv
import io

from trasgo_lib.reporting.metadata.variables import Variable

HEAD = ("code", "label", "position")


def code_list(variable: Variable) -> bytes:
    """The file of a column's codes: UTF-8, texts in quotation marks, one code a line in the declared order.

    Args:
        variable: a column with codes.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(HEAD)
    writer.writerows((code.value, code.label, code.position) for code in variable.codes)
    return stream.getvalue().encode()
