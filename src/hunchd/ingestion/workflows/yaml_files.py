"""YAML of a stranger → plain values: no tags that make objects, no aliases, nothing deep. The only module that knows
PyYAML."""

from __future__ import annotations

from typing import Any, Final

import yaml

DEEPEST: Final = 40  # levels: a parser that recurses has an end
MOST_TOKENS: Final = 60_000
_MERGED: Final = 2_000  # aliases that are followed: a file has a dozen, a bomb billions


class Refused(ValueError):
    """It is no YAML, or more than one wants to read."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # the library has no types
    """Words stay words (`on` is no truth value), and what an alias means is counted."""

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
            raise Refused("too deep")
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


def _word(loader: _Loader, node: yaml.Node) -> Any:
    """Tags that only their own tool knows (`!reference`) say nothing here."""
    return None


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":bool", ":timestamp", ":float", ":int"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_constructor(None, _word)


def read(text: str) -> Any:
    """The value of the document. Raises Refused for what is no YAML, has aliases in aliases, or goes too deep."""
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            if _size(node) > MOST_TOKENS:
                raise Refused("its aliases stand for too much")
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except (yaml.YAMLError, RecursionError, OverflowError, TypeError, AttributeError) as error:
        raise Refused(str(error)[:200]) from error


def _size(root: yaml.Node) -> int:
    """How many values the document has when every alias stands for what it names; known without unfolding them."""
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
            raise Refused("it contains itself")
        under.add(id(node))
        waiting.append((node, True))
        waiting += [(one, False) for one in inner if id(one) not in sizes]
        if any(id(one) in under for one in inner):
            raise Refused("it contains itself")
    return sizes[id(root)]
