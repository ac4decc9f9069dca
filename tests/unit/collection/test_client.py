"""The device: nothing but a noised slot leaves it, the same report on a retry, and never more than its budget."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from collecting import KEY, plan, write

from trasgo_lib.amounts import Epsilon
from trasgo_lib.collection import Client, CollectionPlan, DeviceState, MemoBook, read_collection
from trasgo_lib.errors import BudgetError, ConfigError, InputContractError, Reason

FIRST = date(2026, 1, 5)
LOOP = (41.88, -87.63)
NORTH = (41.97, -87.70)
MEMOISED = {"mechanism": "memoised_unary_encoding", "epsilon": "1", "epsilon_permanent": "2"}
POINT = {
    "box": ["41.6", "-87.9", "42.1", "-87.5"],
    "resolution": 6,
    "crs": "EPSG:3435",
    "step_m": "500",
    "geo": {"epsilon": "1.386", "radius_m": "200"},
    "daily_epsilon": "1.386",
    "lifetime_epsilon": "2.772",
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> CollectionPlan:
    return plan(tmp_path_factory.mktemp("kept"), channel=MEMOISED)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> CollectionPlan:
    device = {"daily_epsilon": "1", "lifetime_epsilon": "3"}
    channel = {"mechanism": "optimised_unary_encoding", "epsilon": "1"}
    return plan(tmp_path_factory.mktemp("fresh"), channel=channel, device=device)


def test_a_report_holds_versions_window_answer_and_a_pseudonym_and_nothing_else(kept: CollectionPlan) -> None:
    client = Client(kept, KEY)
    report = client.report(*LOOP, FIRST + timedelta(days=3)).to_json()
    assert set(report) == {"alphabet_version", "channel_version", "window", "pseudonym", "bits"}
    assert report["window"] == "2026-01-05"
    assert len(str(report["bits"])) == 2 * kept.current[0].channel.report_bytes
    text = repr(client) + str(client.state)
    assert "41.88" not in text and "87.63" not in text


def test_a_report_made_again_from_the_state_before_is_the_same_bit_by_bit(kept: CollectionPlan) -> None:
    one, again = Client(kept, KEY), Client(kept, KEY)
    assert one.report(*LOOP, FIRST) == again.report(LOOP[0] + 1e-5, LOOP[1], FIRST + timedelta(days=1))
    assert one.state.books == again.state.books


def test_windows_devices_and_slots_have_noise_and_pseudonyms_of_their_own(kept: CollectionPlan) -> None:
    client = Client(kept, KEY)
    first, second = client.report(*LOOP, FIRST), client.report(*LOOP, FIRST + timedelta(days=7))
    other = Client(kept, bytes(32)).report(*LOOP, FIRST)
    assert len({first.answer, second.answer, other.answer}) == 3
    assert len({first.pseudonym, second.pseudonym, other.pseudonym}) == 3
    moved = Client(kept, KEY).report(*NORTH, FIRST)
    assert moved.answer != first.answer and moved.pseudonym == first.pseudonym


def test_a_window_is_answered_once(kept: CollectionPlan) -> None:
    client = Client(kept, KEY)
    client.report(*LOOP, FIRST + timedelta(days=8))
    before = client.state
    for day in (8, 13, 2):
        with pytest.raises(BudgetError) as raised:
            client.report(*NORTH, FIRST + timedelta(days=day))
        assert raised.value.reason is Reason.ALREADY_EXISTS
    assert client.state is before


@pytest.mark.parametrize(
    ("latitude", "longitude", "day"), [(100, 0, FIRST), (float("nan"), 0, FIRST), (41, -87, date(2025, 1, 1))]
)
def test_what_cannot_be_encoded_costs_nothing(
    kept: CollectionPlan, latitude: float, longitude: float, day: date
) -> None:
    client = Client(kept, KEY)
    with pytest.raises(InputContractError):
        client.report(latitude, longitude, day)
    assert client.state == DeviceState()


def test_fresh_answers_cost_each_and_end_with_the_lifetime(fresh: CollectionPlan) -> None:
    client = Client(fresh, KEY)
    for week in range(3):
        client.report(*LOOP, FIRST + timedelta(weeks=week))
        assert client.state.spent.text == str(week + 1)
    with pytest.raises(BudgetError) as raised:
        client.report(*LOOP, FIRST + timedelta(weeks=3))
    assert raised.value.reason is Reason.OVER_CAP
    assert "lifetime" in str(raised.value)
    assert client.state.spent.text == "3"


def test_repeated_answers_of_a_cell_cost_at_most_its_permanent_response(kept: CollectionPlan) -> None:
    client = Client(kept, KEY)
    spent = []
    for week in range(5):
        client.report(*(LOOP if week != 3 else NORTH), FIRST + timedelta(weeks=week))
        spent.append(client.state.spent.text)
    assert spent == ["1", "2", "2", "3", "3"]
    assert client.state.reserved.text == "16", "8 responses of 2, from the first report on"


def test_cells_beyond_the_memory_answer_as_other_so_that_no_report_fails_to_come(tmp_path: Path) -> None:
    device = {"daily_epsilon": "1", "lifetime_epsilon": "6", "memoised_cells": 3}
    found = plan(tmp_path, channel=MEMOISED, device=device)
    client, alphabet = Client(found, KEY), found.finest
    places = [(41.88, -87.63), (41.97, -87.70), (41.70, -87.60), (41.80, -87.80), (0.0, 0.0)]
    assert len({int(alphabet.encode([lat], [lon])[0]) for lat, lon in places}) == 5
    for week, (lat, lon) in enumerate(places * 3):
        client.report(lat, lon, FIRST + timedelta(weeks=week))
    (book,) = client.state.books.values()
    assert len(book.answered) == 3
    assert sorted(book.answered.values()) == [3, 3, 9], "two cells, and one response for the rest"
    assert client.state.spent == client.state.reserved == Epsilon.parse("6")


def test_which_reports_share_a_response_depends_on_no_place(tmp_path: Path) -> None:
    """Reports through one response look alike: who began outside the area must not return to it when memory ends."""
    device = {"daily_epsilon": "1", "lifetime_epsilon": "6", "memoised_cells": 3}
    found = plan(tmp_path, channel=MEMOISED, device=device)
    inside, outside = (41.80, -87.80), (0.0, 0.0)
    patterns = []
    for first in (inside, outside):
        client, used, before = Client(found, KEY), list[str](), dict[str, int]()
        for week, (lat, lon) in enumerate([first, LOOP, NORTH, first, (41.70, -87.60)]):
            client.report(lat, lon, FIRST + timedelta(weeks=week))
            (book,) = client.state.books.values()
            used += [memo for memo, count in book.answered.items() if count > before.get(memo, 0)]
            before = dict(book.answered)
        patterns.append([used.index(memo) for memo in used])
    assert patterns[0] == patterns[1] == [0, 1, 2, 0, 2]


def test_whether_a_report_leaves_depends_on_no_place(kept: CollectionPlan) -> None:
    """Two devices, one that never moves and one that always does, are refused in the same window."""
    sees = {}
    tight = replace(kept, caps=replace(kept.caps, daily=Epsilon.parse("1"), lifetime=Epsilon.parse("16")))
    for name, step in (("home", 0.0), ("nomad", 0.02)):
        client, answered = Client(tight, KEY), []
        for week in range(12):
            try:
                client.report(41.66 + step * week, -87.6, FIRST + timedelta(weeks=week))
                answered.append(week)
            except BudgetError:
                pass
        sees[name] = (answered, client.state.reserved)
    assert sees["home"] == sees["nomad"]


def test_two_reports_of_a_day_are_held_against_the_daily_cap(tmp_path: Path) -> None:
    device = {"daily_epsilon": "1", "lifetime_epsilon": "16"}
    daily = plan(tmp_path, channel=MEMOISED, device=device, window={"first_day": "2026-01-05", "days": 1})
    client = Client(daily, KEY)
    client.report(*LOOP, FIRST)
    client.report(*LOOP, FIRST + timedelta(days=1))
    state = replace(client.state, last_window="2026-01-05")  # as if the windows of two collections shared a state
    with pytest.raises(BudgetError, match="daily_epsilon"):
        Client(daily, KEY, state).report(*LOOP, FIRST + timedelta(days=1))


def test_concentrated_accounting_lets_more_small_reports_leave(tmp_path: Path) -> None:
    """Of 0.1 each, 50 add up to 5; as concentrated losses 90 of them are within (5, 1e-6) and 100 are not."""
    channel = {"mechanism": "optimised_unary_encoding", "epsilon": "0.1"}
    for extra, before, leaves in (
        ({}, 49, True),
        ({}, 50, False),
        ({"accounting": "zcdp", "delta": "1e-6"}, 89, True),
        ({"accounting": "zcdp", "delta": "1e-6"}, 99, False),
    ):
        found = plan(tmp_path, channel=channel, device={"daily_epsilon": "0.1", "lifetime_epsilon": "5", **extra})
        client = Client(found, KEY, DeviceState(fresh={"0.1": before}))
        if leaves:
            client.report(*LOOP, FIRST)
        else:
            with pytest.raises(BudgetError, match="lifetime"):
                client.report(*LOOP, FIRST)


def test_a_new_channel_version_is_a_new_memory_and_charged_anew(tmp_path: Path, kept: CollectionPlan) -> None:
    client = Client(kept, KEY)
    client.report(*LOOP, FIRST)
    changed = plan(tmp_path, channel={**MEMOISED, "epsilon": "0.9"})
    with pytest.raises(BudgetError, match="lifetime"):
        Client(changed, KEY, client.state).report(*LOOP, FIRST + timedelta(weeks=1))


def test_the_state_comes_back_from_its_storage_and_a_damaged_one_stops_the_device(kept: CollectionPlan) -> None:
    client = Client(kept, KEY)
    client.report(*LOOP, FIRST)
    document = client.state.to_json()
    assert DeviceState.from_json(document) == client.state
    for damaged in ({}, {**document, "format": 2}, {**document, "books": 1}, {**document, "spent_today": "x"}):
        with pytest.raises((InputContractError, ConfigError)):
            DeviceState.from_json(damaged)


def test_a_book_counts_each_cell_up_to_its_permanent_loss() -> None:
    book = MemoBook(Epsilon.parse("0.6"), Epsilon.parse("2"), 4, {"a": 1, "b": 3, "c": 9})
    assert (book.spent.text, book.reserved.text) == ("4.4", "8")


def test_devices_are_split_over_levels_by_their_key_and_answer_with_parents(tmp_path: Path) -> None:
    levels = plan(tmp_path, resolutions=[5, 7], channel={"mechanism": "optimised_unary_encoding", "epsilon": "1"})
    clients = [Client(levels, bytes([k]) * 32) for k in range(64)]
    at = [client.version.level for client in clients]
    assert 15 < sum(at) < 49
    assert [Client(levels, bytes([k]) * 32).version.level for k in range(64)] == at
    coarse = clients[at.index(0)]
    report = coarse.report(*LOOP, FIRST)
    assert report.alphabet_version == levels.alphabets[0].version != levels.finest.version
    assert isinstance(report.answer, bytes) and len(report.answer) == levels.current[0].channel.report_bytes


def test_points_have_planar_noise_and_a_budget_of_their_own(tmp_path: Path) -> None:
    found = plan(tmp_path, point=POINT)
    client = Client(found, KEY)
    one = client.point(*LOOP, FIRST)
    assert set(one.to_json()) == {"alphabet_version", "channel_version", "window", "slot", "pseudonym"}
    assert found.point is not None and (one.alphabet_version, one.channel_version) == found.point.tag
    assert Client(found, KEY).point(*LOOP, FIRST) == one, "a retry draws the same"
    assert client.state.spent.text == "0", "the ledgers are apart"
    report = client.report(*LOOP, FIRST)
    assert report.pseudonym != one.pseudonym
    with pytest.raises(BudgetError, match="window"):
        client.point(*LOOP, FIRST)
    client.point(*LOOP, FIRST + timedelta(weeks=1))
    with pytest.raises(BudgetError, match="lifetime_epsilon"):
        client.point(*LOOP, FIRST + timedelta(weeks=2))
    assert DeviceState.from_json(client.state.to_json()) == client.state


@pytest.mark.parametrize("later", [{"epsilon": "0.1386", "radius_m": "200"}, {"epsilon": "1.386", "radius_m": "2000"}])
def test_points_keep_their_price_when_a_later_file_asks_for_cheaper_ones(tmp_path: Path, later: dict[str, str]) -> None:
    """Two points spent the cap of 2.772 at 200 m; what comes later is charged on top, at its own distance."""
    first = plan(tmp_path, point=POINT)
    cap = {"daily_epsilon": "1.386", "lifetime_epsilon": "2.772" if later["radius_m"] == "200" else "27.72"}
    second = plan(tmp_path, point={**POINT, "geo": later, **cap})
    client = Client(first, KEY)
    client.point(*LOOP, FIRST)
    half = Client(second, KEY, DeviceState.from_json(client.state.to_json()))
    for week in range(1, 11):  # ten points of a tenth of the loss per distance are worth one
        half.point(*LOOP, FIRST + timedelta(weeks=week))
    with pytest.raises(BudgetError, match="lifetime_epsilon"):
        half.point(*LOOP, FIRST + timedelta(weeks=11))
    client.point(*LOOP, FIRST + timedelta(weeks=1))
    with pytest.raises(BudgetError, match="lifetime_epsilon"):
        Client(second, KEY, client.state).point(*LOOP, FIRST + timedelta(weeks=2))
    today, day = Client(first, KEY), FIRST + timedelta(days=1)
    today.point(*LOOP, day)
    of_a_day = cap | {"daily_epsilon": "1.386" if later["radius_m"] == "200" else "13.86"}
    daily = plan(tmp_path, window={"first_day": "2026-01-04", "days": 1}, point={**POINT, "geo": later, **of_a_day})
    with pytest.raises(BudgetError, match="daily_epsilon"):
        Client(daily, KEY, today.state).point(*LOOP, day)


@pytest.mark.parametrize("points", [3, {"x/200": 1}, {"1": 1}, {"1/0": 1}, {"1/200": -1}, ["1/200"]])
def test_a_device_that_does_not_know_what_its_points_cost_does_not_report(tmp_path: Path, points: object) -> None:
    state = DeviceState().to_json()
    assert DeviceState.from_json({**state, "points": 0, "points_today": 0}) == DeviceState()
    with pytest.raises(InputContractError):
        DeviceState.from_json({**state, "points": points})


def test_noised_points_lie_as_far_as_the_loss_says(tmp_path: Path) -> None:
    point = plan(tmp_path, point=POINT).point
    assert point is not None
    code = point.domain.encode(np.array([LOOP[0]]), np.array([LOOP[1]]), outside="clip")
    from trasgo_lib.noise import Keystream

    drawn = point.channel.sample(np.repeat(code, 4000), Keystream(KEY, "points"))
    moved = point.domain.displacement_m(np.repeat(code, 4000), drawn)
    assert abs(moved.mean() / point.channel.mean_displacement_m - 1) < 0.05


def test_a_collection_without_points_gives_none(kept: CollectionPlan) -> None:
    with pytest.raises(ConfigError, match="points"):
        Client(kept, KEY).point(*LOOP, FIRST)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"device": {"daily_epsilon": "0.5", "lifetime_epsilon": "9"}}, "daily_epsilon of at least 1"),
        ({"device": {"daily_epsilon": "1", "lifetime_epsilon": "0.5"}}, "lifetime_epsilon of at least 1"),
        ({"channel": MEMOISED, "device": {"daily_epsilon": "1", "lifetime_epsilon": "15"}}, "at least 16"),
        ({"point": {**POINT, "daily_epsilon": "1"}}, "what one point costs"),
        ({"point": {**POINT, "crs": "EPSG:4326"}}, "projection"),
        ({"channel": {"mechanism": "rappor", "epsilon": "1"}}, "epsilon_permanent"),
        ({"accepted": [{"mechanism": "auto", "epsilon": "1"}]}, "the same twice"),
        ({"area": {"box": ["42", "-88", "41", "-87"]}}, "south below north"),
        ({"area": {"alphabet": "none.json"}}, "alphabet file"),
        ({"area": {}}, "exactly one of box"),
        ({"resolutions": [7, 6]}, "rising"),
        ({"resolutions": [0, 6]}, "2 to"),
        ({"area": {"box": ["-17", "179", "-16", "180"]}, "resolutions": [5]}, "7 of 54 that do"),
        ({"area": {"box": ["80", "0", "90", "120"]}, "resolutions": [3]}, "H3 can fill"),
        ({"window": {"first_day": "05/01/2026", "days": 7}}, "year-month-day"),
        ({"window": {"first_day": "2026-W02-1", "days": 7}}, "year-month-day"),
        ({"device": {"daily_epsilon": "1", "lifetime_epsilon": "9", "delta": "1e-9"}}, "zcdp"),
        ({"device": {"daily_epsilon": 1, "lifetime_epsilon": "9"}}, "text in quotes"),
        ({"chanel": 1}, "channel"),
        ({"show": {"confidence": "1"}}, "0.5 to 0.9999"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_with_its_line(
    tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as raised:
        read_collection(write(tmp_path, **changes))
    assert raised.value.faults[0].line is not None


def test_windows_are_spans_of_days_with_an_end(kept: CollectionPlan) -> None:
    windows = replace(kept.windows, late_days=3)
    assert windows.of(FIRST + timedelta(days=6)) == "2026-01-05"
    assert windows.of(FIRST + timedelta(days=7)) == "2026-01-12"
    assert windows.is_window("2026-01-12")
    for text in ("2026-01-13", "2025-12-29", "week 2", "20260112", ""):
        assert not windows.is_window(text)
    for days, is_open in ((-1, False), (0, True), (6, True), (9, True), (10, False)):
        assert windows.is_open("2026-01-05", FIRST + timedelta(days=days)) is is_open


def test_the_plan_says_what_clients_need_and_its_digest_changes_with_it(tmp_path: Path, kept: CollectionPlan) -> None:
    document = kept.to_json()
    assert document["versions"][0]["channel"]["epsilon_permanent"] == "2"
    assert kept.version_of(kept.current[0].tag) is kept.current[0]
    assert kept.version_of(kept.current[0].tag._replace(channel="0" * 32)) is None
    others = [plan(tmp_path, channel=MEMOISED, window={"first_day": "2026-01-05", "days": 1}), plan(tmp_path)]
    assert len({kept.digest, *(other.digest for other in others)}) == 3
    accepted = [{"mechanism": "optimised_unary_encoding", "epsilon": "2"}]
    earlier = plan(
        tmp_path, channel=MEMOISED, accepted=accepted, device={"daily_epsilon": "2", "lifetime_epsilon": "16"}
    )
    assert [version.is_current for version in earlier.versions] == [True, False]
    with pytest.raises(ConfigError, match=r"daily_epsilon of at least 2.*accepted"):
        plan(tmp_path, channel=MEMOISED, accepted=accepted)


def test_an_alphabet_file_is_taken_as_it_is(tmp_path: Path) -> None:
    import json

    found = plan(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps(found.finest.to_json()), encoding="utf-8")
    assert plan(tmp_path, area={"alphabet": "a.json"}).finest == found.finest
    with pytest.raises(ConfigError, match="as the file has"):
        plan(tmp_path, area={"alphabet": "a.json"}, resolutions=[7])
