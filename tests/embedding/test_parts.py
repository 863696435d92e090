"""The pure parts: batching, the plan, the limits in force, the pace, lanes and flights."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import pytest
from servers import Server

from unabridged.embedding.batching import next_batch
from unabridged.embedding.flights import Flights
from unabridged.embedding.lanes import Lanes
from unabridged.embedding.limits import LimitsInForce, next_guess
from unabridged.embedding.pace import Pace, outcome_of
from unabridged.embedding.plan import Chunking, fitting, in_force
from unabridged.providers.calibration import Calibration
from unabridged.types import Fault, Limit


@dataclass
class Sized:
    text: str
    tokens: int


def text(tokens: int, words: str = "some words") -> Sized:
    return Sized(words, tokens)


def batches(pieces: list[Sized], limit: Limit, **options) -> list[list[int]]:
    waiting, made = deque(pieces), []
    while waiting:
        made.append([p.tokens for p in next_batch(waiting, limit, **options)])
    return made


def test_batches_keep_every_cap_and_the_order() -> None:
    pieces = [Sized("x" * n, n) for n in (5, 5, 9, 1, 1, 1)]
    assert batches(pieces, Limit(request_tokens=10)) == [[5, 5], [9, 1], [1, 1]]
    assert batches(pieces, Limit(request_inputs=4)) == [[5, 5, 9, 1], [1, 1]]
    assert batches(pieces, Limit(request_bytes=30)) == [[5, 5], [9, 1], [1, 1]]
    assert batches(pieces, Limit(request_tokens=10), scale=lambda text: 2.0) == [[5], [5], [9], [1, 1, 1]]
    assert batches([Sized("x", 50)], Limit(request_tokens=10)) == [[50]], "the provider says what is wrong with it"


def test_L3_compat_plans_in_characters_with_fifty_lines() -> None:
    plan = in_force(Chunking(compat=True), Limit(input_tokens=8192))
    assert (plan.max_size, plan.overlap, plan.minimum, plan.max_lines, plan.unit) == (
        5734,
        409,
        819,
        50,
        "chars",
    )
    assert plan.trigger_chars == 8192


def test_L3_unset_numbers_scale_with_the_set_ones() -> None:
    plan = in_force(Chunking(max_tokens=700), Limit(input_tokens=8192))
    assert (plan.overlap, plan.minimum, plan.trigger_tokens) == (50, 100, 700)
    plan = in_force(Chunking(max_tokens=10_000), Limit(input_tokens=8192))
    assert (plan.max_size, plan.trigger_tokens) == (8192, 8192)


def test_a_model_without_a_limit_is_never_cut() -> None:
    assert in_force(Chunking(), Limit()) is None
    assert in_force(Chunking(), Limit(input_chars=2048)).trigger_chars == 2048


def test_numbers_that_a_learned_limit_contradicts_are_planned_anew() -> None:
    asked = Chunking(max_tokens=2000, overlap_tokens=600, max_lines=9)
    assert fitting(asked, 8192) is asked
    assert fitting(asked, 512) == Chunking(max_lines=9)
    unplanned = Chunking(overlap_tokens=400, compat=True)
    assert fitting(unplanned, 512) == Chunking(compat=True)  # 70 % of 512 are less than the overlap
    in_force(fitting(unplanned, 512), Limit(input_tokens=512))


def test_l3_sizes_in_characters_are_not_held_against_a_limit_in_tokens() -> None:
    theirs = Chunking(max_tokens=2000, overlap_tokens=500, min_tokens=500, unit="chars")
    plan = in_force(fitting(theirs, 254), Limit(input_tokens=254))
    assert (plan.max_size, plan.overlap, plan.minimum, plan.trigger_chars) == (2000, 500, 500, 2000)


def test_guesses_go_down_the_rungs() -> None:
    assert [next_guess(n) for n in (100_000, 8193, 8192, 2048, 512, 100, 32)] == [
        32_768,
        8192,
        2048,
        512,
        128,
        32,
        None,
    ]


def fault(**fields) -> Fault:
    return Fault(fields.pop("kind", "input_overflow"), "input", **fields)


def test_limits_only_tighten_and_ignore_the_implausible() -> None:
    limits = LimitsInForce(Limit(input_tokens=8192))
    for absurd in (0, 3, 31):
        assert not limits.refused_input(fault(limit=absurd, unit="tokens"), text(5000))
    limits.accepted([text(4000)], None)
    assert not limits.refused_input(fault(limit=512, unit="tokens"), text(5000)), "4,000 have gone through"
    assert limits.refused_input(fault(limit=4096, unit="tokens"), text(5000))
    assert limits.refused_input(fault(limit=6000, unit="tokens"), text(7000))
    assert limits.limit.input_tokens == 4096
    assert limits.refused_input(fault(limit=2048, unit="chars"), text(900))
    assert limits.limit.input_chars == 2048


def test_a_stated_size_calibrates_the_count() -> None:
    limits = LimitsInForce(Limit(input_tokens=8192))
    limits.refused_input(fault(limit=8192, actual=12_000, unit="tokens"), text(8000))
    assert limits.scales.of("any English") == pytest.approx(1.5)
    limits.accepted([text(300)], 604)
    assert limits.scales.of("any English") == pytest.approx(2.0), "four special tokens do not count"
    limits.accepted([text(10)], 1000)
    assert limits.scales.of("any English") == pytest.approx(2.0), "a short request says more about special tokens"


def test_what_is_learned_of_one_script_leaves_the_others_alone() -> None:
    limits = LimitsInForce(Limit(input_tokens=8192))
    limits.accepted([text(1000, "自然语言")], 1604)
    assert limits.scales.of("汉字") == pytest.approx(1.6)
    assert limits.scales.of("English") == 1.0, "an English text that fits stays untouched"
    limits.accepted([text(500), text(500, "自然语言")], 3000)
    assert limits.scales.of("汉字") == pytest.approx(1.6), "whose tokens they were cannot be told"


def test_one_odd_bill_moves_nothing_for_good() -> None:
    limits = LimitsInForce(Limit(input_tokens=8192))
    for billed in (1104, 5004, 1104, 1104):
        limits.accepted([text(1000)], billed)
    assert limits.scales.of("English") == pytest.approx(1.1)


def test_the_count_outlives_the_process(tmp_path) -> None:
    counts = Calibration(tmp_path).for_model("host", "model")
    LimitsInForce(Limit(input_tokens=8192), None, counts).accepted([text(1000, "自然语言")], 1604)
    again = LimitsInForce(Limit(input_tokens=8192), None, Calibration(tmp_path).for_model("host", "model"))
    assert again.scales.of("汉字") == pytest.approx(1.6)
    assert again.scales.of("English") == 1.0


def test_an_excess_gives_the_limit() -> None:
    limits = LimitsInForce(Limit())
    assert limits.refused_input(fault(excess=1000, unit="tokens"), text(9000))
    assert limits.limit.input_tokens == 8000


@pytest.mark.parametrize(
    ("said", "name", "learned"),
    [
        (Fault("batch_count", limit=64, unit="inputs"), "request_inputs", 64),
        (Fault("batch_count", unit="inputs"), "request_inputs", 50),
        (Fault("batch_count", limit=500, unit="inputs"), "request_inputs", 50),
        (Fault("request_overflow", limit=3000, unit="tokens"), "request_tokens", 3000),
        (Fault("request_overflow"), "request_tokens", 2000),
        (Fault("request_overflow", limit=9000, unit="bytes"), "request_bytes", 9000),
        (Fault("rate_limit_impossible", limit=1000, unit="tokens/min"), "request_tokens", 1000),
    ],
)
def test_a_refused_request_is_smaller_next_time(said, name, learned) -> None:
    limits = LimitsInForce(Limit())
    limits.refused_request(said, [Sized("x" * 200, 40)] * 100)
    assert getattr(limits.limit, name) == learned


class Store:
    def __init__(self) -> None:
        self.kept = Limit()
        self.faults: list[Fault] = []

    def load(self) -> Limit:
        return self.kept

    def learn(self, limit: Limit, fault: Fault) -> None:
        self.kept = self.kept.tighten(limit)
        self.faults.append(fault)


def test_what_is_learned_outlives_the_process() -> None:
    store = Store()
    LimitsInForce(Limit(input_tokens=8192), store).refused_input(fault(limit=512, unit="tokens"), text(5000))
    assert LimitsInForce(Limit(input_tokens=8192), store).limit.input_tokens == 512
    assert store.faults[0].limit == 512


# -- pace -----------------------------------------------------------------------------------------


def test_case_23_a_429_lowers_the_requests_in_flight_and_success_raises_them() -> None:
    pace = Pace(8)
    pace.enter(pace.ticket(), 0.0)
    pace.leave(0.0, "limited")
    assert pace.window < 8
    low = pace.window
    assert pace.rate is not None
    for n in range(1, 40):
        pace.in_flight += 1
        pace.leave(float(n), "ok")
    assert pace.window > low
    assert pace.window <= 8


def test_first_in_first_out_also_for_what_is_sent_again() -> None:
    pace = Pace(1)
    first, second = pace.ticket(), pace.ticket()
    assert pace.enter(first, 0.0) == 0.0
    assert pace.enter(second, 0.0) > 0
    pace.leave(0.1, "slow")
    assert pace.enter(first, 1.0) == 0.0, "the refused one keeps its place"
    assert pace.enter(second, 1.0) > 0
    pace.leave(1.1, "ok")
    assert pace.enter(second, 1.2) == 0.0


def test_a_place_given_up_lets_the_next_one_go() -> None:
    pace = Pace(1)
    first, second, third = pace.ticket(), pace.ticket(), pace.ticket()
    pace.enter(first, 0.0)
    pace.enter(second, 0.0)
    pace.enter(third, 0.0)
    pace.quit(second)
    pace.leave(0.1, "ok")
    assert pace.enter(third, 0.2) == 0.0


def test_retry_after_holds_everyone_when_nothing_is_admitted() -> None:
    pace = Pace(4)
    pace.enter(pace.ticket(), 0.0)
    pace.leave(0.0, "limited", 3.0)
    assert pace.enter(pace.ticket(), 1.0) > 0
    late = pace.ticket()
    assert pace.enter(late, 1.0) > 0


def test_the_rate_follows_what_is_admitted() -> None:
    """A simulated provider admits 20 a second; virtual time, 60 seconds."""
    pace, now, level, sent, refused = Pace(64), 0.0, 20.0, 0, 0
    tickets = [pace.ticket() for _ in range(64)]
    while now < 60:
        wait = pace.enter(tickets[0], now)
        if wait:
            now += 0.005
            level = min(20.0, level + 0.1)
            continue
        if level >= 1:
            level -= 1
            sent += 1
            pace.leave(now, "ok")
            tickets = [*tickets[1:], pace.ticket()]
        else:
            refused += 1
            pace.leave(now, "limited")
    assert sent >= 0.9 * 60 * 20
    assert refused <= 0.5 * sent


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [("rate_limit", "limited"), ("overloaded", "slow"), ("timeout", "slow"), ("input_overflow", "other")],
)
def test_what_a_fault_says_about_the_pace(kind, outcome) -> None:
    assert outcome_of(kind) == outcome


# -- lanes and flights ----------------------------------------------------------------------------


def test_keys_take_turns_and_hosts_stand_in_order() -> None:
    keys = [Server(host="a"), Server(host="b"), Server(host="a")]
    lanes = Lanes(keys, 4)
    picked = {lanes.pick().provider.host for _ in range(6)}
    assert picked == {"a"}
    for lane in lanes.all:
        if lane.provider.host == "a":
            lanes.take_out(lane, RuntimeError("out"))
    assert lanes.pick().provider is keys[1]
    assert not lanes.take_out(lanes.all[1], RuntimeError("out"))
    assert lanes.pick() is None


def test_a_flight_lands_once() -> None:
    flights = Flights()
    flights.claim([b"a"])
    _, theirs = flights.claim([b"a"])
    flights.land(b"a", None)
    flights.land(b"a", None)
    assert theirs[b"a"].result(0) is None
    assert flights.claim([b"a"])[0] == [b"a"]
