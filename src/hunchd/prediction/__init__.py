"""Prediction of the files needed next, from history, contents and the session.

Measured by `hunchd.bench`.
"""
