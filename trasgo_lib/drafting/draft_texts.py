"""The fixed text of a draft: its comments say what each key means and which public source to look for."""

from __future__ import annotations

HEAD = """\
# Draft of a release file for {file}, by `trasgo init`. Every key is explained in configs/README.md.
#
# Taken from the start of the file: how it is written, the names of its columns, and a guess of what kind of values each
# column holds. Nothing else: no value, no bound, no code, no missing code, no step, no count.
# Column names are public: they stand here, in the plan and in the release. Rename a column that must not be named.
#
# Each `undecided` is yours to decide, from public knowledge: the questionnaire, a code list, a law, a population
# register. Never look it up in the rows: a bound or a code read off the data is itself a disclosure.
#
# Next: trasgo doctor THIS_FILE            what is undecided, wrong or unwise
#       trasgo plan THIS_FILE              what it costs and what the noise does
#       trasgo run --rehearse THIS_FILE    the whole run on made-up rows, free, before any key or account exists

format: 1

"""

RELEASE = """\
release:
  dataset: {dataset}
  version: "1"             # a release never changes; a correction is version "2"
  title: undecided         # for people: what was asked, of whom, when
  licence: ""              # of the published files, such as "CC-BY-4.0"
  source_note: ""          # where the rows come from, for people

"""

SOURCE = """\
source:
  path: {path}
  format: {format}
"""

CSV = """\
  csv:
    encoding: {encoding}
    delimiter: {delimiter}
    decimal: {decimal}
{thousands}    header: {header}
    missing: undecided     # texts that mean missing in every column, by the file's description: [""] or ["", "?"]

"""

PARQUET = "\n"

PRIVACY = """\
privacy:
  # Agree on the total with those who protect these people. How many they are, and who is in two files, a population
  # register tells: one account for each population, however many data sets its people are in.
  epsilon_total: undecided # most that this version may spend on one unit
  delta_total: "0"         # 0 suits every mechanism; else far below 1 / rows
{geo}  account: undecided       # the account that pays
  unit: undecided          # whose record is protected: row, or {{column: person_id, max_rows: 3}} for several rows each
  row_order: shuffle       # source would say that the order of the rows tells nothing of anyone

"""

COLUMNS = """\
# What is to be decided for a column:
#   domain     the values that can be, whoever answers; never those that happen to occur. The noise grows with its width
#   step       how finely values are kept: it divides upper - lower
#   ordered    whether the order of the codes means something: true or false
#   outside    clip (what lies outside goes to the nearest end) or reject (it stops the run)
#   missing    error (a missing value stops the run), code (missing is one more value) or {{replace: "0"}}. The texts
#              that mean missing in this column alone (refused, not known) the questionnaire has: missing_codes: ["9"]
#   mechanism  number, date: laplace, gaussian, binned_randomized_response (with noise_bins), staircase
#              category: randomized_response (two codes), kary_randomized_response, exponential (with utility)
#              point: planar_laplace; auto, where a public `prior` tells which one loses least
#   target     most loss that users of the data can bear: {{tvd: "0.05"}} or {{correlation_loss: "40"}}; the loop finds
#              the level. Or a level of your own instead: epsilon: "1"
#   geo        epsilon for two places radius_m apart
# A column may also be left out (role: drop), or published as it is, without protection (role: public).
{nameless}columns:
"""

NAMELESS = """\
# The file seems to have no header, so columns are numbered. If it has one: trasgo init --header
"""

PUBLISH = """\
publish:
  store: undecided         # a folder that gets public/ and restricted/; or public: and restricted: apart, folders or s3://
  approvals: 0             # people who must approve before anything is public: 0, 1 or 2
"""
