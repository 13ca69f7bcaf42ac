"""Safe YAML loader for untrusted files.

It returns plain values only and limits depth and aliases. The only module that uses PyYAML.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

DEEPEST: Final = 40  # levels: limits the parser's recursion
MOST_TOKENS: Final = 60_000
_MERGED: Final = 2_000  # aliases followed: a file has a dozen, a YAML bomb billions


class Refused(ValueError):
    """Raised for text that is no YAML or exceeds a limit."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # the library has no types
    """YAML loader that counts aliases and keeps words as strings.

    `on` is no boolean.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._aliases = 0
        self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            self._aliases += 1
            if self._aliases > _MERGED:
                raise Refused("too many aliases")
        self._depth += 1
        if self._depth > DEEPEST:
            raise Refused("nested too deeply")
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


def _word(loader: _Loader, node: yaml.Node) -> Any:
    """Ignore tags that only their own tool knows (`!reference`)."""
    return None


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":bool", ":timestamp", ":float", ":int"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_constructor(None, _word)


def read(text: str) -> Any:
    """Parse a YAML document.

    Raises Refused for invalid YAML, recursive or excessive aliases, and deep nesting.
    """
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            if _size(node) > MOST_TOKENS:
                raise Refused("aliases expand to too many values")
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except (yaml.YAMLError, RecursionError, OverflowError, TypeError, AttributeError) as error:
        raise Refused(str(error)[:200]) from error


def _size(root: yaml.Node) -> int:
    """Count the values with all aliases expanded.

    The aliases are not actually expanded.
    """
    sizes: dict[int, int] = {}
    waiting: list[tuple[yaml.Node, bool]] = [(root, False)]
    under: set[int] = set()
    while waiting:
        node, done = waiting.pop()
        if id(node) in sizes:
            continue
        inner: list[yaml.Node] = []
        if isinstance(node, yaml.MappingNode):
            inner = [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            inner = list(node.value)
        if done:
            under.discard(id(node))
            sizes[id(node)] = 1 + sum(sizes.get(id(one), MOST_TOKENS) for one in inner)
            continue
        if id(node) in under:
            raise Refused("the document contains itself")
        under.add(id(node))
        waiting.append((node, True))
        waiting += [(one, False) for one in inner if id(one) not in sizes]
        if any(id(one) in under for one in inner):
            raise Refused("the document contains itself")
    return sizes[id(root)]
