"""Entry point of `python -m hunchd.cli`, the same as `hunch`."""

import sys

from hunchd.cli.main import main

sys.exit(main())
