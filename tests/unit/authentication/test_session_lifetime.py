from bifrost.authentication.accounts import Accounts
from bifrost.authentication.sasl_server import SaslSettings
from bifrost.authentication.session_lifetime import MIN_REAUTH_INTERVAL_MS, SessionLifetime
from support.stage.stage import account


class Clock:
    now_ms = 5_000


def lifetime() -> tuple[Clock, SessionLifetime]:
    clock = Clock()
    settings = SaslSettings(Accounts([account("acme")], b"key"), lambda: "nonce", lambda: clock.now_ms)
    return clock, SessionLifetime(settings)


def test_without_a_limit_it_never_ends_and_is_never_renewed() -> None:
    clock, one = lifetime()
    one.begin(None, is_again=False)

    clock.now_ms += 10**9

    assert one.left_ms is None
    assert not one.may_renew


def test_it_ends_after_its_time_and_not_before() -> None:
    clock, one = lifetime()
    one.begin(2_000, is_again=False)

    assert one.left_ms == 2_000
    clock.now_ms += 1_999
    assert one.left_ms == 1
    clock.now_ms += 1
    assert one.left_ms == 0
    clock.now_ms += 10_000
    assert one.left_ms == 0


def test_a_renewed_one_holds_for_the_whole_time_again() -> None:
    clock, one = lifetime()
    one.begin(2_000, is_again=False)
    clock.now_ms += 1_500

    one.begin(2_000, is_again=True)

    assert one.left_ms == 2_000


def test_it_is_renewed_once_a_second_and_the_first_time_at_once() -> None:
    clock, one = lifetime()
    one.begin(60_000, is_again=False)
    assert one.may_renew

    one.begin(60_000, is_again=True)

    assert not one.may_renew
    clock.now_ms += MIN_REAUTH_INTERVAL_MS - 1
    assert not one.may_renew
    clock.now_ms += 1
    assert one.may_renew


def test_one_that_is_over_at_once_ends_with_the_next_request() -> None:
    _, one = lifetime()

    one.begin(0, is_again=False)

    assert one.left_ms == 0
    assert one.may_renew
