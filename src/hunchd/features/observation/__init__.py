"""Observation of working trees, git, the spool folder and log files."""
