"""Errors in log files: first lines, continuation lines and ends."""

from hunchd.ingestion.errors import parse_error
from hunchd.ingestion.log_errors import close_block, split_errors

LOG = """2026-11-22 10:00:00,120 INFO shop.web: listening
2026-11-22 10:00:01,004 ERROR shop.cart: basket 17 cannot be priced
Traceback (most recent call last):
  File "/srv/shop/cart.py", line 31, in total
    return prices[item]
KeyError: 'pears'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/shop/web.py", line 9, in show
    cart.total()
shop.errors.PriceError: no price
2026-11-22 10:00:02,000 INFO shop.web: GET / 500
2026-11-22 10:00:03,000 WARNING shop.web: slow
[2026-11-22 10:00:04] [12] [ERROR] worker timeout (pid 88)
2026-11-22 10:00:05 INFO done
java.lang.IllegalStateException: closed
\tat shop.Cart.total(Cart.java:12)
Caused by: java.io.IOException: gone
\tat shop.Disk.read(Disk.java:5)
\t... 3 more
2026-11-22 10:00:06 INFO done with 0 errors
"""


def test_log_errors_are_split_with_traces() -> None:
    found, rest = split_errors(LOG.splitlines())

    assert [parse_error(text).headline for text in found] == [
        "shop.errors.PriceError: no price",
        "ERROR: worker timeout (pid 88)",
        "IOException: gone (which brought java.lang.IllegalStateException: closed)",
    ]
    assert "Caused by: java.io.IOException: gone" in found[2]
    assert "KeyError: 'pears'" in found[0]
    assert found[0].startswith("ERROR: shop.cart: basket 17 cannot be priced\nTraceback")
    assert rest == []


def test_incomplete_error_waits_for_more_lines() -> None:
    lines = LOG.splitlines()
    first, rest = split_errors(lines[:5])
    assert first == []
    whole, _ = split_errors([*rest, *lines[5:14]])
    assert whole == split_errors(lines)[0][:1]
    assert close_block(rest)[0].startswith("ERROR: shop.cart")
    assert close_block([]) == []


def test_fingerprint_ignores_log_time() -> None:
    one, other = (
        split_errors([f"2026-11-22 10:0{n}:00 [{n}] ERROR shop: order {n}77 lost", "x"])[0][0] for n in (1, 2)
    )
    assert parse_error(one).fingerprint == parse_error(other).fingerprint
