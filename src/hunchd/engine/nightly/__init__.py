"""Consolidation runs: planning, execution, rollback, and the usage data they rely on."""
