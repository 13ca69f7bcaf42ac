"""Safe YAML loader for untrusted files.

It returns only plain values (strings, lists and mappings), and limits the nesting depth and the aliases. This is
the only module that uses PyYAML.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

MAX_DEPTH: Final = 40  # levels: limits the parser's recursion
MAX_VALUES: Final = 60_000
_MAX_ALIASES: Final = 2_000  # aliases followed: an ordinary file has a dozen, a YAML bomb billions


class InvalidYaml(ValueError):
    """Raised if a text is not valid YAML or exceeds a limit."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # the library has no types
    """YAML loader that limits aliases and nesting, and reads scalars as strings.

    `on`, for example, is not read as True.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._aliases = 0
        self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            self._aliases += 1
            if self._aliases > _MAX_ALIASES:
                raise InvalidYaml(f"the document has more than {_MAX_ALIASES} aliases")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise InvalidYaml(f"the document has more than {MAX_DEPTH} nested levels")
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


def _ignore_tag(loader: _Loader, node: yaml.Node) -> Any:
    """Return None for a node with an unknown tag, such as `!reference`.

    Such tags are known only to the tool that reads the file.
    """
    return None


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":bool", ":timestamp", ":float", ":int"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_constructor(None, _ignore_tag)


def load_yaml(text: str) -> Any:
    """Parse a YAML document; return None if it is empty.

    Raises InvalidYaml if the text is not valid YAML, has recursive or excessive aliases, or is nested too deeply.
    """
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            if _count_values(node) > MAX_VALUES:
                raise InvalidYaml(f"the document has more than {MAX_VALUES} values once its aliases are expanded")
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except (yaml.YAMLError, RecursionError, OverflowError, TypeError, AttributeError) as error:
        raise InvalidYaml(str(error)[:200]) from error


def _count_values(root: yaml.Node) -> int:
    """Count the values that a document would have with all aliases expanded.

    The aliases are not actually expanded.
    """
    sizes: dict[int, int] = {}
    pending: list[tuple[yaml.Node, bool]] = [(root, False)]
    open_ids: set[int] = set()
    while pending:
        node, is_expanded = pending.pop()
        if id(node) in sizes:
            continue
        children: list[yaml.Node] = []
        if isinstance(node, yaml.MappingNode):
            children = [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            children = list(node.value)
        if is_expanded:
            open_ids.discard(id(node))
            sizes[id(node)] = 1 + sum(sizes.get(id(one), MAX_VALUES) for one in children)
            continue
        if id(node) in open_ids:
            raise InvalidYaml("an alias in the document refers to a node that contains it")
        open_ids.add(id(node))
        pending.append((node, True))
        pending += [(one, False) for one in children if id(one) not in sizes]
        if any(id(one) in open_ids for one in children):
            raise InvalidYaml("an alias in the document refers to a node that contains it")
    return sizes[id(root)]
