"""Sessions: taken in, condensed, compiled into a prompt, and what stays of them."""
