"""The tables on disk: written by one, read by many, mended when damaged, with a mirror of them in memory."""
