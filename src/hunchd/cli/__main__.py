"""`python -m hunchd.cli` is `hunch`."""

import sys

from hunchd.cli.main import main

sys.exit(main())
