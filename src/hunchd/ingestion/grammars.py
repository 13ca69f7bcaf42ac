"""Table of the names of syntax nodes in each language.

Because of this table, the code that walks a syntax tree does not depend on the language.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """Description of one language's syntax.

    The node types are those used by the tree-sitter grammar in the Python package `module`.
    """

    module: str
    function: str = "language"
    kinds: Mapping[str, str]  # node type of a definition → kind of symbol
    containers: frozenset[str] = frozenset()  # definitions whose members are definitions too
    transparent_nodes: frozenset[str] = frozenset()  # nodes that only group definitions
    body_nodes: frozenset[str] = frozenset()  # where a signature ends, for definitions without a `body` field
    annotation_nodes: frozenset[str] = frozenset()  # annotations before a definition, not part of its signature
    signature_fields: tuple[str, ...] = ()  # fields at which the signature ends, if no node marks the body's start
    query: str = ""  # captures @import, @module (a child module) and @quiet (text that is not code)
    embedded_node: str = ""  # node type whose braces hold source of the same language (Rust's item macros)


_PY_QUERY = """
[(comment) (string_content)] @quiet
[(import_statement) (import_from_statement)] @import
"""

_JS_QUERY = """
[(comment) (string_fragment) (regex_pattern)] @quiet
(import_statement source: (string (string_fragment) @import))
(export_statement source: (string (string_fragment) @import))
((call_expression function: [(identifier) (import)] @_f arguments: (arguments . (string (string_fragment) @import)))
 (#any-of? @_f "require" "import"))
"""

_C_QUERY = """
[(comment) (string_content)] @quiet
(preproc_include path: (_) @import)
"""

_PHP_QUERY = """
[(comment) (string_content)] @quiet
(namespace_use_declaration) @import
(require_once_expression (string (string_content) @import))
(require_expression (string (string_content) @import))
(include_expression (string (string_content) @import))
(include_once_expression (string (string_content) @import))
"""

_RUBY_QUERY = """
[(comment) (string_content)] @quiet
((call method: (identifier) @_f arguments: (argument_list . (string (string_content)))) @import
 (#any-of? @_f "require" "require_relative" "load"))
"""

_BASH_QUERY = """
[(comment) (raw_string)] @quiet
((command name: (command_name) @_f argument: [(word) (string) (concatenation)] @import) (#any-of? @_f "source" "."))
"""

_JS_KINDS = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "class_declaration": "class",
    "method_definition": "method",
    "field_definition": "field",
    "variable_declarator": "constant",
    "assignment_expression": "assignment",
    "arrow_function": "function",  # only reached as the value of `export default`
    "function_expression": "function",
    "class": "class",
    "call_expression": "test",
}
_TS_KINDS = {
    **_JS_KINDS,
    "function_signature": "function",
    "abstract_class_declaration": "class",
    "interface_declaration": "interface",
    "type_alias_declaration": "type",
    "enum_declaration": "enum",
    "method_signature": "method",
    "abstract_method_signature": "method",
    "public_field_definition": "field",
    "property_signature": "field",
    "internal_module": "module",
    "module": "module",
}
_JS_CONTAINERS = frozenset({"class_declaration", "class", "call_expression"})
_TS_CONTAINERS = _JS_CONTAINERS | {"abstract_class_declaration", "interface_declaration", "internal_module", "module"}
_JS_TRANSPARENT = frozenset(
    {"program", "export_statement", "lexical_declaration", "variable_declaration", "class_body", "expression_statement"}
)
_TS_TRANSPARENT = _JS_TRANSPARENT | {"ambient_declaration", "interface_body", "object_type", "statement_block"}

_C_KINDS = {
    "function_definition": "function",
    "declaration": "variable",
    "struct_specifier": "struct",
    "union_specifier": "union",
    "enum_specifier": "enum",
    "type_definition": "type",
    "preproc_def": "macro",
    "preproc_function_def": "macro",
    "field_declaration": "field",
}
_CPP_KINDS = {
    **_C_KINDS,
    "class_specifier": "class",
    "alias_declaration": "type",
    "concept_definition": "concept",
    "namespace_definition": "module",
}
_C_TRANSPARENT = frozenset(
    {
        "translation_unit",
        "preproc_ifdef",
        "preproc_if",
        "preproc_else",
        "preproc_elif",
        "linkage_specification",
        "declaration_list",
        "field_declaration_list",
    }
)

GRAMMARS: Mapping[str, Grammar] = {
    "python": Grammar(
        module="tree_sitter_python",
        kinds={
            "function_definition": "function",
            "class_definition": "class",
            "type_alias_statement": "type",
            "assignment": "variable",
        },
        containers=frozenset({"class_definition"}),
        transparent_nodes=frozenset(
            {
                "module",
                "block",
                "decorated_definition",
                "expression_statement",
                "if_statement",
                "elif_clause",
                "else_clause",
                "try_statement",
                "except_clause",
                "finally_clause",
                "with_statement",
            }
        ),
        query=_PY_QUERY,
    ),
    "javascript": Grammar(
        module="tree_sitter_javascript",
        kinds=_JS_KINDS,
        containers=_JS_CONTAINERS,
        transparent_nodes=_JS_TRANSPARENT,
        body_nodes=frozenset({"class_body", "statement_block"}),
        annotation_nodes=frozenset({"decorator"}),
        query=_JS_QUERY,
    ),
    "typescript": Grammar(
        module="tree_sitter_typescript",
        function="language_typescript",
        kinds=_TS_KINDS,
        containers=_TS_CONTAINERS,
        transparent_nodes=_TS_TRANSPARENT,
        body_nodes=frozenset({"class_body", "interface_body", "enum_body", "statement_block"}),
        annotation_nodes=frozenset({"decorator"}),
        query=_JS_QUERY,
    ),
    "tsx": Grammar(
        module="tree_sitter_typescript",
        function="language_tsx",
        kinds=_TS_KINDS,
        containers=_TS_CONTAINERS,
        transparent_nodes=_TS_TRANSPARENT,
        body_nodes=frozenset({"class_body", "interface_body", "enum_body", "statement_block"}),
        annotation_nodes=frozenset({"decorator"}),
        query=_JS_QUERY,
    ),
    "go": Grammar(
        module="tree_sitter_go",
        kinds={
            "function_declaration": "function",
            "method_declaration": "method",
            "type_spec": "type",
            "type_alias": "type",
            "const_spec": "constant",
            "var_spec": "variable",
            "method_elem": "method",
            "field_declaration": "field",
        },
        containers=frozenset({"type_spec"}),
        transparent_nodes=frozenset(
            {
                "source_file",
                "const_declaration",
                "var_declaration",
                "var_spec_list",
                "type_declaration",
                "struct_type",
                "interface_type",
                "field_declaration_list",
            }
        ),
        body_nodes=frozenset({"field_declaration_list"}),
        query="""[(comment) (interpreted_string_literal_content) (raw_string_literal_content)] @quiet
                 (import_spec path: (_) @import)""",
    ),
    "rust": Grammar(
        module="tree_sitter_rust",
        kinds={
            "function_item": "function",
            "function_signature_item": "function",
            "struct_item": "struct",
            "enum_item": "enum",
            "union_item": "union",
            "trait_item": "trait",
            "impl_item": "impl",
            "mod_item": "module",
            "const_item": "constant",
            "static_item": "variable",
            "type_item": "type",
            "macro_definition": "macro",
            "field_declaration": "field",
        },
        containers=frozenset({"trait_item", "impl_item", "mod_item", "struct_item"}),
        transparent_nodes=frozenset({"source_file", "declaration_list", "foreign_mod_item", "field_declaration_list"}),
        body_nodes=frozenset({"macro_rule"}),
        query="""[(line_comment) (block_comment) (string_content)] @quiet
                 (use_declaration argument: (_) @import)
                 (mod_item name: (identifier) @module !body)""",
        embedded_node="macro_invocation",
    ),
    "java": Grammar(
        module="tree_sitter_java",
        kinds={
            "class_declaration": "class",
            "interface_declaration": "interface",
            "enum_declaration": "enum",
            "record_declaration": "class",
            "annotation_type_declaration": "interface",
            "method_declaration": "method",
            "constructor_declaration": "method",
            "field_declaration": "field",
        },
        containers=frozenset({"class_declaration", "interface_declaration", "enum_declaration", "record_declaration"}),
        transparent_nodes=frozenset({"program", "class_body", "interface_body", "enum_body", "enum_body_declarations"}),
        annotation_nodes=frozenset({"marker_annotation", "annotation"}),
        query="[(line_comment) (block_comment) (string_fragment)] @quiet (import_declaration) @import",
    ),
    "c": Grammar(
        module="tree_sitter_c",
        kinds=_C_KINDS,
        containers=frozenset({"struct_specifier", "union_specifier"}),
        transparent_nodes=_C_TRANSPARENT,
        annotation_nodes=frozenset({"attribute_specifier"}),
        query=_C_QUERY,
    ),
    "cpp": Grammar(
        module="tree_sitter_cpp",
        kinds=_CPP_KINDS,
        containers=frozenset({"class_specifier", "struct_specifier", "union_specifier", "namespace_definition"}),
        transparent_nodes=_C_TRANSPARENT | {"template_declaration"},
        annotation_nodes=frozenset({"attribute_specifier", "attribute_declaration"}),
        query=_C_QUERY,
    ),
    "csharp": Grammar(
        module="tree_sitter_c_sharp",
        kinds={
            "class_declaration": "class",
            "interface_declaration": "interface",
            "struct_declaration": "struct",
            "record_declaration": "class",
            "enum_declaration": "enum",
            "delegate_declaration": "type",
            "method_declaration": "method",
            "constructor_declaration": "method",
            "property_declaration": "field",
            "field_declaration": "field",
            "event_field_declaration": "field",
            "namespace_declaration": "module",
            "file_scoped_namespace_declaration": "module",
        },
        containers=frozenset(
            {
                "class_declaration",
                "interface_declaration",
                "struct_declaration",
                "record_declaration",
                "namespace_declaration",
            }
        ),
        transparent_nodes=frozenset({"compilation_unit", "declaration_list", "preproc_if", "preproc_else"}),
        body_nodes=frozenset({"accessor_list"}),
        annotation_nodes=frozenset({"attribute_list"}),
        query="[(comment) (string_literal_content)] @quiet (using_directive) @import",
    ),
    "ruby": Grammar(
        module="tree_sitter_ruby",
        kinds={
            "class": "class",
            "module": "module",
            "method": "method",
            "singleton_method": "method",
            "assignment": "constant",
            "call": "test",
        },
        containers=frozenset({"class", "module", "call"}),
        transparent_nodes=frozenset({"program", "body_statement", "singleton_class", "if", "unless", "then", "else"}),
        signature_fields=("name", "parameters", "superclass"),
        query=_RUBY_QUERY,
    ),
    "php": Grammar(
        module="tree_sitter_php",
        function="language_php",
        kinds={
            "class_declaration": "class",
            "interface_declaration": "interface",
            "trait_declaration": "trait",
            "enum_declaration": "enum",
            "function_definition": "function",
            "method_declaration": "method",
            "const_element": "constant",
            "property_declaration": "field",
            "namespace_definition": "module",
        },
        containers=frozenset(
            {
                "class_declaration",
                "interface_declaration",
                "trait_declaration",
                "enum_declaration",
                "namespace_definition",
            }
        ),
        transparent_nodes=frozenset(
            {
                "program",
                "declaration_list",
                "enum_declaration_list",
                "compound_statement",
                "if_statement",
                "const_declaration",
            }
        ),
        annotation_nodes=frozenset({"attribute_list"}),
        query=_PHP_QUERY,
    ),
    "bash": Grammar(
        module="tree_sitter_bash",
        kinds={"function_definition": "function", "variable_assignment": "variable"},
        transparent_nodes=frozenset({"program", "declaration_command", "if_statement", "list"}),
        query=_BASH_QUERY,
    ),
    "json": Grammar(
        module="tree_sitter_json",
        kinds={"pair": "key"},
        containers=frozenset({"pair"}),
        transparent_nodes=frozenset({"document", "object"}),
    ),
    "yaml": Grammar(
        module="tree_sitter_yaml",
        kinds={"block_mapping_pair": "key"},
        containers=frozenset({"block_mapping_pair"}),
        transparent_nodes=frozenset({"stream", "document", "block_node", "block_mapping"}),
        query="(comment) @quiet",
    ),
    "toml": Grammar(
        module="tree_sitter_toml",
        kinds={"table": "section", "table_array_element": "section", "pair": "key"},
        containers=frozenset({"table", "table_array_element"}),
        transparent_nodes=frozenset({"document"}),
        query="(comment) @quiet",
    ),
}
