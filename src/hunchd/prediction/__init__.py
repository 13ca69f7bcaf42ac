"""Prediction of the files needed next, from the history, file contents and the session.

`hunchd.bench` measures its quality. Files, units of work and other things are referred to by numbers, which serve
as indexes into NumPy arrays.
"""
