"""Observation of working trees, git, the spool and log files."""
