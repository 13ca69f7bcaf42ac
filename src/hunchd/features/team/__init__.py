"""Sharing of a project's memory with a team, through a dataset in an object store.

Every member's daemon appends signed records to the dataset. A statement is a record with what a member says about a
subject, such as the value of a fact; a resolution is a member's decision between conflicting statements.
"""
