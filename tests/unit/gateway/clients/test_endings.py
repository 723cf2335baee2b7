from bifrost.gateway.clients.endings import LINES_A_SECOND, EndLines
from bifrost.session.close_reason import CloseReason

REFUSED, MALFORMED = CloseReason.TENANT_CONNECTIONS, CloseReason.MALFORMED


def test_so_many_lines_a_second_are_written_and_the_next_counts_the_others() -> None:
    now_s = [1.0]
    lines = EndLines(lambda: now_s[0])

    assert [lines.admit(REFUSED, "acme") for _ in range(LINES_A_SECOND)] == [0] * LINES_A_SECOND
    assert [lines.admit(REFUSED, "acme") for _ in range(7)] == [None] * 7
    now_s[0] = 2.5

    assert [lines.admit(REFUSED, "acme"), lines.admit(REFUSED, "acme")] == [7, 0]


def test_other_reasons_and_tenants_have_lines_of_their_own() -> None:
    lines = EndLines(lambda: 1.0)
    for _ in range(LINES_A_SECOND + 1):
        lines.admit(REFUSED, "acme")

    assert lines.admit(MALFORMED, "acme") == 0
    assert lines.admit(REFUSED, "globex") == 0
    assert lines.admit(REFUSED, None) == 0
