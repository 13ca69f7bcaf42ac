"""Client of an external language model.

Used only if the user has switched it on, and never while somebody waits for an answer.
"""
