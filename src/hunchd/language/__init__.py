"""Client for an external language model.

It is used only if the user has switched it on, and never while somebody waits for an answer.
"""
