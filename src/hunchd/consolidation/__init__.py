"""Plans of what changes in the memories: merge, summarise, link, retire, forget.

Pure functions; nothing is written here.
"""
