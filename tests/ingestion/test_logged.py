"""A log is read as one reads it: an error begins at its line and ends where the log goes on."""

from hunchd.ingestion.errors import understood
from hunchd.ingestion.logged import ended, errors_in

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


def test_each_error_of_a_log_is_found_with_its_trace() -> None:
    found, rest = errors_in(LOG.splitlines())

    assert [understood(text).headline for text in found] == [
        "shop.errors.PriceError: no price",
        "ERROR: worker timeout (pid 88)",
        "IOException: gone (which brought java.lang.IllegalStateException: closed)",
    ]
    assert "Caused by: java.io.IOException: gone" in found[2]
    assert "KeyError: 'pears'" in found[0]
    assert found[0].startswith("ERROR: shop.cart: basket 17 cannot be priced\nTraceback")
    assert rest == []


def test_what_is_still_being_written_waits_for_its_end() -> None:
    lines = LOG.splitlines()
    first, rest = errors_in(lines[:5])
    assert first == []
    whole, _ = errors_in([*rest, *lines[5:14]])
    assert whole == errors_in(lines)[0][:1]
    assert ended(rest)[0].startswith("ERROR: shop.cart")
    assert ended([]) == []


def test_the_same_line_at_another_time_is_the_same_error() -> None:
    one, other = (errors_in([f"2026-11-22 10:0{n}:00 [{n}] ERROR shop: order {n}77 lost", "x"])[0][0] for n in (1, 2))
    assert understood(one).fingerprint == understood(other).fingerprint
