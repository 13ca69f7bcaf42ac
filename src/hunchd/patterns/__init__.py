"""Mining of code patterns: pieces of code that a project writes again and again.

A shape is a function, method or class, with features such as the names it calls. A pattern is a group of shapes that
share distinctive features; these shapes are its instances. Patterns are described with the places where new instances
usually go.
"""
