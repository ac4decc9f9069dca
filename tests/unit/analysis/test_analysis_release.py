"""Opening a release, and every question that is refused, withheld or answered with a warning."""

from __future__ import annotations

import dataclasses
import datetime
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from published_people import GRADES, REGIONS, WAVES, YEARS, columns, published, release_of

from trasgo_lib.analysis import MISSING, Estimate, EstimateTable, NoisedColumn, NoiseWarning, Release, open_release
from trasgo_lib.analysis.usefulness import Possible
from trasgo_lib.data import CategoryDomain, DateDomain, NumberDomain, ProductDomain
from trasgo_lib.errors import InputContractError, Reason, StoreError, VerificationError
from trasgo_lib.estimation import conditional_means, joint_shares, joint_subset_shares, shares, subset_shares
from trasgo_lib.keys import SigningKey
from trasgo_lib.mechanisms import build_channel, kept_share, margin
from trasgo_lib.noise import Keystream
from trasgo_lib.storage import open_store

ROWS = 3000


@pytest.fixture
def quiet() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        yield


def release(noised: dict[str, NoisedColumn], codes: dict[str, np.ndarray], **public: pa.Array) -> Release:
    arrays = {name: published(column, codes[name]) for name, column in noised.items()}
    return release_of(pa.table({**arrays, **public}), noised)


def column(name: str, mechanism: str, domain: object, epsilon: str, **more: object) -> NoisedColumn:
    return NoisedColumn(name, name, domain, build_channel(mechanism, domain, epsilon, **more))  # type: ignore[arg-type]


def test_a_published_release_opens_verified(golden: Path, quiet: object) -> None:
    opened = open_release(golden)
    assert (opened.dataset, opened.version, opened.rows) == ("golden", "1", 200)
    assert opened.public == ("note",)
    assert list(opened.noised)[:3] == ["wage", "rate", "hours"]
    assert "wage" in repr(opened) and "laplace, epsilon 1.25" in repr(opened) and "public" in repr(opened)
    assert "geo epsilon 6.93 per km" in repr(opened)
    found = opened.share("region")
    assert list(found) == ["north", "mid, west", 'so"uth'] and len(found) == 3
    assert sum(found.nearest.values()) == pytest.approx(1)
    assert opened.share("rate", MISSING).value is not None or opened.share("rate", MISSING).reason
    assert set(opened.share("smsa", "yes", by="note")) > {MISSING}


def test_every_place_opens_alike(golden: Path, tmp_path: Path, quiet: object) -> None:
    shutil.copytree(golden, tmp_path / "golden" / "1")
    memory = open_store("memory:")
    for path in golden.rglob("*"):
        if path.is_file():
            memory.put_once(f"golden/1/{path.relative_to(golden).as_posix()}", path)
    expected = open_release(golden).mean("size")
    for location, prefix in ((golden.as_uri(), ""), (str(tmp_path), "golden/1"), (memory, "/golden/1/")):
        assert open_release(location, prefix).mean("size") == expected
    with pytest.raises(StoreError):
        open_release(tmp_path / "absent")


@pytest.mark.parametrize("location", [None, 7, ["releases"], b"releases"])
def test_what_is_no_place_is_refused_in_words(location: object) -> None:
    with pytest.raises(InputContractError, match="a folder or URI") as caught:
        open_release(location)  # type: ignore[arg-type]
    assert type(location).__name__ in str(caught.value)


def test_a_changed_copy_opens_only_without_verification(golden: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(golden, tmp_path / "copy"))
    with (copy / "report.md").open("a") as stream:
        stream.write("more")
    with pytest.raises(VerificationError) as caught:
        open_release(copy)
    assert caught.value.exit_code == 8
    assert open_release(copy, verify=False).rows == 200
    (copy / "channel.json").write_text("{}")
    with pytest.raises(VerificationError):
        open_release(copy, verify=False)


def test_a_release_opens_under_its_publishers_key_and_no_other(golden: Path, tmp_path: Path) -> None:
    assert open_release(golden, key=golden / "signing-key.pem").rows == 200
    (tmp_path / "other.pem").write_bytes(SigningKey(bytes(range(32))).public.to_pem())
    with pytest.raises(VerificationError):
        open_release(golden, key=tmp_path / "other.pem")


def test_rows_are_read_when_they_are_asked_for(golden: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(golden, tmp_path / "copy"))
    opened = open_release(copy)
    (copy / "data" / "golden.parquet").unlink()
    with pytest.raises(FileNotFoundError):
        opened.share("region")


def test_all_values_together_are_everyone(people: Callable[[int], Release], quiet: object) -> None:
    opened = people(0)
    for name in ("grade", "years", "gaps", "binned"):
        asked = opened.noised[name]
        values, members = asked.cells()
        assert members.sum(axis=1).tolist() == [1] * asked.channel.inputs
        every = subset_shares(asked.channel, opened.data.count(asked), members)
        assert sum(one.value for one in every) == pytest.approx(1)
        assert len(values) == members.shape[1]
    assert opened.noised["binned"].cells()[0] == (4, 14, 24, 32)
    both = opened.share("grade", ["low", "middle"])
    assert both.value == pytest.approx(1 - opened.share("grade", "high").value)
    assert opened.share("years", 14) == opened.share("years")[14]
    table = opened.crosstab("grade", "region")
    assert sum(table.nearest.values()) == pytest.approx(1)
    assert all(share >= 0 for share in table.nearest.values())


def test_groups_of_a_public_column_are_those_of_a_filter(people: Callable[[int], Release], quiet: object) -> None:
    opened = people(1)
    by_wave = opened.mean("years", by="wave")
    assert tuple(by_wave) == WAVES
    counts = opened.data.count_by(opened.noised["years"], "wave")
    assert sum(counts.values()).tolist() == opened.data.count(opened.noised["years"]).tolist()
    shares_by_wave = opened.share("grade", by="wave")
    assert set(shares_by_wave) == {(wave, grade) for wave in WAVES for grade in GRADES.codes}
    assert sum(shares_by_wave[WAVES[0], grade].value for grade in GRADES.codes) == pytest.approx(1)
    by_region = opened.share("years", range(0, 20, 2), by="region")
    assert tuple(by_region) == REGIONS.codes
    assert by_region["west"].reason == "the noise hides how many rows have this value"
    whole = opened.share("grade", by="binned")
    assert set(whole) == {(years, grade) for years in (4, 14, 24, 32) for grade in GRADES.codes}


def test_crosstabs_by_group_add_up_in_each_group(people: Callable[[int], Release], quiet: object) -> None:
    opened = people(1)
    by_wave = opened.crosstab("grade", "binned", by="wave")
    assert set(by_wave) == {(wave, grade, bin_) for wave in WAVES for grade in GRADES.codes for bin_ in (4, 14, 24, 32)}
    pooled = opened.crosstab("grade", "binned")
    rows = {wave: int(counts.sum()) for wave, counts in opened.data.count_by(opened.noised["grade"], "wave").items()}
    for pair, whole in pooled.items():
        of_waves = [by_wave[(wave, *pair)] for wave in WAVES]
        if None not in (whole.value, *(one.value for one in of_waves)):
            mixed = sum(one.value * rows[wave] for one, wave in zip(of_waves, WAVES, strict=True)) / opened.rows
            assert whole.value == pytest.approx(mixed)
    by_grade = opened.crosstab("binned", "gaps", by="grade")
    assert len(by_grade) == 3 * 4 * 20 and ("low", 4, MISSING) in by_grade
    of_pairs = opened.crosstab("binned", "grade", by="region")
    assert {one.reason for key, one in of_pairs.items() if key[0] == "west"} == {
        "the noise hides how many rows have this value"
    }


def test_a_crosstab_by_group_agrees_with_shares_by_group(people: Callable[[int], Release], quiet: object) -> None:
    """Joint shares in a group, summed over one column, are the shares of the other there: values, exactly."""
    opened = people(2)
    table = opened.crosstab("binned", "region", by="grade")
    for grade in GRADES.codes:
        alone = opened.share("binned", by="grade")
        for value in (14, 24):
            cells = [table[grade, value, region] for region in REGIONS.codes]
            assert None not in [one.value for one in cells]
            assert sum(one.value for one in cells) == pytest.approx(alone[grade, value].value)


def test_crosstabs_by_group_refuse_what_they_cannot_do(people: Callable[[int], Release]) -> None:
    opened = people(1)
    for by in ("grade", "nowhere"):
        with pytest.raises(InputContractError):
            opened.crosstab("grade", "region", by=by)
    with pytest.raises(InputContractError, match="at most 2 pairs"):
        _few_pairs(opened)


def _few_pairs(opened: Release) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trasgo_lib.analysis.crosstabs.MOST_PAIRS_WITHIN", 2)
        opened.crosstab("grade", "region", by="years")


def test_public_groups_with_gaps_and_small_groups(quiet: object) -> None:
    noised = {"sex": column("sex", "randomized_response", CategoryDomain(["f", "m"]), "4")}
    codes = noised["sex"].channel.sample(np.arange(ROWS, dtype=np.int32) % 2, Keystream(bytes(32), "sex"))
    kind = pa.array(
        [None if row % 3 == 0 else (float("nan") if row % 3 == 1 else 2.0) for row in range(ROWS - 5)] + [7.0] * 5
    )
    opened = release(noised, {"sex": codes}, kind=kind)
    found = opened.share("sex", "f", by="kind")
    assert list(found) == [2.0, 7.0, MISSING]
    assert found[7.0].reason == "fewer than 30 rows"
    assert found[2.0].value == pytest.approx(0.5, abs=0.1)
    many = release(noised, {"sex": codes}, person=pa.array(range(ROWS)))
    with pytest.raises(InputContractError, match="at most 1000 values to group by"):
        many.share("sex", "f", by="person")


def test_dates_count_in_days_and_whole_number_labels_as_themselves(quiet: object) -> None:
    days = DateDomain(lower="2017-01-01", upper="2017-01-31")
    sizes = CategoryDomain(["1", "2", "5"], output="integer")
    noised = {
        "day": column("day", "laplace", days, "8"),
        "size": column("size", "kary_randomized_response", sizes, "4", missing=True),
    }
    private = {"day": np.arange(ROWS) % 11, "size": np.arange(ROWS) % 4}
    codes = {
        name: one.channel.sample(private[name].astype(np.int32), Keystream(bytes(32), name))
        for name, one in noised.items()
    }
    opened = release(noised, codes)
    epoch = (datetime.date(2017, 1, 6) - datetime.date(1970, 1, 1)).days
    assert opened.mean("day").covers(epoch)
    assert opened.share("day", datetime.date(2017, 1, 2)) == opened.share("day", "2017-01-02")
    assert opened.mean("size").covers(8 / 3)
    assert opened.share("size", MISSING).covers(0.25)
    assert opened.share("size", 5) == opened.share("size", "5")
    assert list(opened.share("size")) == [1, 2, 5, MISSING]
    assert "2017-01-02" in repr(opened.share("day"))
    assert "(missing)" in repr(opened.share("size")) and repr(MISSING) == "MISSING"
    with pytest.raises(InputContractError, match="at least one value"):
        opened.share("size", [])
    with pytest.raises(InputContractError, match="2017-01-01 to 2017-01-31"):
        opened.share("day", datetime.date(2018, 1, 1))


def test_columns_of_a_group_are_read_together(quiet: object) -> None:
    hours = NumberDomain("0", "19", "1")
    domain = ProductDomain([("grade", GRADES, None), ("hours", hours, 4)])
    channel = build_channel("kary_randomized_response", domain, "2")
    grade = np.arange(ROWS) % 3
    worked = np.where(grade == 2, 10, 0) + np.arange(ROWS) // 3 % 10
    released = channel.sample(domain.encode(grade, worked), Keystream(bytes(32), "group"))
    parts = dict(zip(("grade", "hours"), domain.decode(released), strict=True))
    noised = {
        name: NoisedColumn(name, "both", domain.part(name).domain, margin(channel, domain, name), kept_share(channel))
        for name in parts
    }
    opened = release(noised, parts)
    assert opened.share("grade", "low").covers(1 / 3)
    # one fixed key; standard errors are below 0.025, so a miss by more than 0.08 is a fault (false alarm below 1e-3)
    tolerance = 0.08
    table = opened.crosstab("grade", "hours")
    truth = {
        (name, place): share
        for name, row in (("low", (1, 1, 0, 0)), ("high", (0, 0, 1, 1)))
        for place, share in zip((2, 7, 12, 17), row)
    }
    assert len(table) == 12
    for key, share in truth.items():
        found = table[key]
        assert found.value == pytest.approx(share / 6, abs=tolerance) or (
            share == 0 and "fewer" in (found.reason or "")
        )
    by_grade = opened.mean("hours", by="grade")
    assert by_grade["low"].covers(4.5) and by_grade["high"].covers(14.5)
    correlated = float(np.corrcoef(grade, worked)[0, 1])
    assert opened.correlation("grade", "hours").covers(correlated)
    # negative control: as if they were noised apart, the table is far off
    apart = release({name: dataclasses.replace(one, kept=None) for name, one in noised.items()}, parts)
    assert abs(apart.crosstab("grade", "hours")["low", 2].value - 1 / 6) > tolerance


def test_large_domains_answer_what_needs_no_table(quiet: object) -> None:
    wide = column("wide", "laplace", NumberDomain("0", "20000", "1"), "8")
    private = np.full(ROWS, 5000, dtype=np.int32)
    opened = release({"wide": wide}, {"wide": wide.channel.sample(private, Keystream(bytes(32), "wide"))})
    assert opened.mean("wide").covers(5000)
    assert opened.share("wide", range(10_001)).covers(1) or opened.share("wide", range(10_001)).reason
    with pytest.raises(InputContractError, match="at most 4096 values"):
        opened.share("wide")
    middle = column("middle", "laplace", NumberDomain("0", "400", "1"), "8")
    twin = NoisedColumn("twin", "twin", middle.domain, middle.channel)
    pair = release_of(pa.table({"middle": [1], "twin": [1]}), {"middle": middle, "twin": twin})
    for ask in (pair.crosstab, lambda a, b: pair.share(a, by=b)):
        with pytest.raises(InputContractError, match="at most 65536"):
            ask("middle", "twin")
    smooth = column("smooth", "gaussian", NumberDomain("0", "8000", "1"), "2")
    rough = release({"smooth": smooth}, {"smooth": smooth.channel.sample(private, Keystream(bytes(32), "smooth"))})
    assert rough.share("smooth", range(4000)).reason == "the domain is too large to undo this noise"


def test_columns_of_many_values_have_a_correlation_without_a_table_of_pairs(quiet: object) -> None:
    wide = column("wide", "laplace", NumberDomain("0", "20000", "1"), "8")
    noised = {name: NoisedColumn(name, name, wide.domain, wide.channel) for name in ("alike", "against", "apart")}
    half = np.where(np.arange(ROWS) % 2, 7000, 13000).astype(np.int32)
    private = {"alike": half, "against": 20000 - half, "apart": np.sort(half)}
    drawn = {name: wide.channel.sample(private[name], Keystream(bytes(32), name)) for name in noised}
    opened = release(noised, drawn)
    assert np.corrcoef(drawn["alike"], drawn["against"])[0, 1] > -0.6  # negative control: the rows as they stand
    found = {name: opened.correlation("alike", name) for name in ("against", "apart")}
    assert found["against"].covers(-1) and found["against"].high < -0.7
    assert found["apart"].covers(0) and found["apart"].high < 0.3


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda r: r.share("nobody"), "no such column"),
        (lambda r: r.share("wave"), "a public one"),
        (lambda r: r.mean("years", by="nobody"), "no such column"),
        (lambda r: r.share("grade", "highest"), "one of low, middle, high"),
        (lambda r: r.share("grade", MISSING), "came MISSING"),
        (lambda r: r.share("gaps", 99), "0 to 36 in steps of 2, or MISSING"),
        (lambda r: r.share("years", 3), "0 to 36 in steps of 2"),
        (lambda r: r.share("years", "many"), "0 to 36 in steps of 2"),
        (lambda r: r.share("years", float("nan")), "0 to 36 in steps of 2"),
        (lambda r: r.mean("region"), "whole-number labels"),
        (lambda r: r.variance("region"), "whole-number labels"),
        (lambda r: r.correlation("years", "region"), "Ask for a crosstab"),
        (lambda r: r.crosstab("years", "years"), "the same column twice"),
        (lambda r: r.share("years", by="years"), "the same column twice"),
        (lambda r: r.share("grade", by=["years"]), "no such column"),
        (lambda r: r.mean("years", by=["grade"]), "no such column"),
        (lambda r: r.quantile("years", by=["grade"]), "no such column"),
        (lambda r: r.share(["grade"]), "no such column"),
        (lambda r: r.mean(None), "no such column"),
        (lambda r: r.mean("years", confidence="0.95"), "0.5 to 0.9999"),
        (lambda r: r.mean("years", confidence=None), "0.5 to 0.9999"),
        (lambda r: r.mean("years", confidence=95), "0.5 to 0.9999"),
        (lambda r: r.regression("years", None), "a column or a list of columns"),
        (lambda r: r.regression("years", 5), "a column or a list of columns"),
        (lambda r: r.quantile("years", "0.5"), "between 0 and 1"),
        (lambda r: r.quantile("years", None), "between 0 and 1"),
    ],
)
def test_questions_without_an_answer_are_refused(
    people: Callable[[int], Release], ask: Callable[[Release], object], words: str
) -> None:
    with pytest.raises(InputContractError) as caught:
        ask(people(0))
    assert words in str(caught.value)


@pytest.mark.parametrize("confidence", [2, 0.0, float("nan")])
@pytest.mark.parametrize("by", [None, "note", "smsa"])
def test_a_wrong_confidence_is_refused_where_answers_are_withheld_too(
    golden: Path, quiet: object, confidence: float, by: str | None
) -> None:
    release = open_release(golden)
    asked: list[Callable[[], object]] = [
        lambda: release.share("rate", None, by, confidence=confidence),
        lambda: release.crosstab("region", "size", by, confidence=confidence),
        lambda: release.mean("wage", by, confidence=confidence),
        lambda: release.quantile("wage", 0.5, by, confidence=confidence),
        lambda: release.variance("wage", by, confidence=confidence),
        lambda: release.correlation("wage", "hours", by, confidence=confidence),
        lambda: release.regression("wage", "hours", by, confidence=confidence),
    ]
    for ask in asked:
        with pytest.raises(InputContractError, match=r"0\.5 to 0\.9999"):
            ask()


def test_halves_of_points_are_refused(golden: Path) -> None:
    assert "place_latitude   half of a point, one of" in repr(open_release(golden))
    for ask in (open_release(golden).mean, open_release(golden).share):
        with pytest.raises(InputContractError, match="half of a point"):
            ask("place_latitude")


def test_rows_that_the_channel_file_does_not_allow_are_refused() -> None:
    noised = {"grade": columns()["grade"], "years": columns()["years"]}
    opened = release_of(pa.table({"grade": ["low", None], "years": [0, 3000]}), noised)
    with pytest.raises(InputContractError) as caught:
        opened.share("grade")
    assert caught.value.reason is Reason.NULL_VALUE
    with pytest.raises(InputContractError) as caught:
        opened.mean("years")
    assert caught.value.reason is Reason.OUT_OF_DOMAIN


def test_an_answer_that_would_be_noise_is_withheld(quiet: object) -> None:
    noised = {
        "years": column("years", "laplace", YEARS, "0.1"),
        "grade": column("grade", "kary_randomized_response", GRADES, "0.05"),
    }
    private = np.arange(200, dtype=np.int32) % 3
    codes = {name: one.channel.sample(private, Keystream(bytes(32), name)) for name, one in noised.items()}
    opened = release(noised, codes, wave=pa.array(["a"] * 200))
    wide = "the noise leaves an interval as wide as everything possible"
    assert opened.mean("years").reason == wide
    assert opened.share("grade", "low").reason == wide
    assert {one.reason for one in opened.share("grade", by="wave").values()} == {wide}
    assert opened.variance("years").reason in {wide, "the noise hides how far the values spread"}
    assert "spread" in str(opened.correlation("years", "grade").reason)
    assert {one.reason for one in opened.mean("years", by="grade").values()} <= {
        wide,
        "the noise hides how many rows have this value",
    }
    assert repr(opened.share("grade")).count("none: ") == 3
    few = release(noised, {name: one[:20] for name, one in codes.items()}, wave=pa.array(["a"] * 20))
    for found in (
        few.mean("years"),
        few.variance("years"),
        few.correlation("years", "grade"),
        few.share("grade", "low"),
    ):
        assert found.reason == "fewer than 30 rows"
    assert {one.reason for one in few.crosstab("years", "grade").values()} == {"fewer than 30 rows"}
    assert {one.reason for one in few.mean("years", by="wave").values()} == {"fewer than 30 rows"}


def test_a_variance_below_zero_is_withheld(quiet: object) -> None:
    noised = {"years": column("years", "laplace", YEARS, "2")}
    opened = release(noised, {"years": np.full(ROWS, 9, dtype=np.int32)})
    assert opened.variance("years").reason == "the noise hides how far the values spread"


def test_rare_values_are_withheld_and_the_nearest_distribution_is_whole(quiet: object) -> None:
    noised = {"grade": column("grade", "kary_randomized_response", GRADES, "8")}
    opened = release(noised, {"grade": np.repeat([0, 1, 2], [2000, 995, 5]).astype(np.int32)})
    found = opened.share("grade")
    assert found["high"].reason == "fewer than 20 published rows tell it from the others"
    assert found["low"].value == pytest.approx(2 / 3, abs=0.01)
    assert sum(found.nearest.values()) == pytest.approx(1)


def test_an_answer_that_is_mostly_noise_comes_with_a_warning(people: Callable[[int], Release]) -> None:
    with pytest.warns(NoiseWarning, match="share of years: the 95 % interval covers"):
        people(0).share("years")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        people(0).mean("years")
        people(0).share("grade")


def test_what_is_possible_bounds_what_is_said() -> None:
    possible = Possible(0.0, 1.0)
    assert possible.judge(Estimate.of(-0.01, 0.02), "x") == Estimate(-0.01, 0.0, pytest.approx(0.0292, abs=1e-4), 0.02)
    assert possible.judge(Estimate.of(-0.5, 0.02), "x") == Estimate(-0.5, 0.0, 0.02, 0.02)
    assert possible.judge(Estimate.of(1.5, 0.02), "x") == Estimate(1.5, 0.98, 1.0, 0.02)
    none = Estimate.none("nothing")
    assert possible.judge(none, "x") is none
    assert str(none) == "none: nothing" and str(Estimate.of(0.5, 0.1)) == "0.5 (0.304 to 0.696)"


def test_tables_read_well_and_are_mappings() -> None:
    table = EstimateTable(
        "share of x by y", 1234, {(number, "a"): Estimate.of(number / 100, 0.01) for number in range(50)}
    )
    text = repr(table)
    assert text.startswith("share of x by y, from 1,234 rows, with 95 % intervals\n  0 / a   0 (")
    assert text.endswith("... and 10 more")
    assert table[3, "a"].value == pytest.approx(0.03) and len(table) == 50 and table.nearest is None
    assert list(table.values())[1] == table[1, "a"]


def test_subset_shares_are_those_of_the_whole_inverse(people: Callable[[int], Release]) -> None:
    opened = people(2)
    years, grade = opened.noised["years"], opened.noised["grade"]
    ours, theirs = years.cells()[1], grade.cells()[1]
    histogram, table = opened.data.count(years), opened.data.count_pairs(years, grade)
    whole = shares(years.channel, histogram)
    for code, found in enumerate(subset_shares(years.channel, histogram, ours)):
        expected = whole.estimate(code)
        assert found.value == pytest.approx(expected.value)
        assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-6)
    joint = joint_shares(years.channel, grade.channel, table)
    for place, found in enumerate(joint_subset_shares(years.channel, grade.channel, table, ours, theirs)):
        expected = joint.estimate(*divmod(place, 3))
        assert found.value == pytest.approx(expected.value)
        assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-6)


def test_what_cannot_be_decoded_is_said_for_every_entry() -> None:
    smooth, grade = columns()["years"].channel, columns()["grade"].channel
    wide = build_channel("gaussian", NumberDomain("0", "5000", "1"), "2")
    members, ones = np.ones((wide.inputs, 2), dtype=bool), np.ones((3, 2), dtype=bool)
    reason = {"the domain is too large to undo this noise"}
    pairs = np.ones((wide.outputs, 3), dtype=int)
    assert {one.reason for one in subset_shares(wide, np.ones(wide.outputs, dtype=int), members)} == reason
    found = joint_subset_shares(wide, grade, pairs, members, ones)
    assert len(found) == 4 and {one.reason for one in found} == reason
    means = conditional_means(wide, grade, pairs, members.astype(float), members[:, 0], ones)
    assert [len(row) for row in means] == [2, 2] and {one.reason for row in means for one in row} == reason
    with pytest.raises(InputContractError):
        subset_shares(smooth, np.zeros(19, dtype=int), np.ones((19, 1), dtype=bool))


_ALONE = """
import sys
class NoPandas:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "pandas":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoPandas())
from trasgo_lib.analysis import open_release
release = open_release(sys.argv[1])
print(release, release.share("region"), release.mean("wage"), release.mean("hours", by="note"))
loaded = {"prefect", "great_expectations", "sqlalchemy", "matplotlib"} & set(sys.modules)
assert not loaded, loaded
"""


def test_analysis_needs_neither_pandas_nor_prefect_nor_great_expectations(golden: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", _ALONE, str(golden)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "share of region" in done.stdout
