"""Consolidation runs: scheduling, planning, applying and undoing them."""
