"""Tree-sitter queries for each language, which find shapes and their features.

A shape is a function, method or class that may be an instance of a pattern. For the captures that become features,
see `FEATURE_PREFIXES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# `name` is no real shape: it only records that the project defines a type or macro of that name.
SHAPE_CAPTURES: Final = ("function", "class", "name")

# Prefix (for `call` and `macro`, suffix) of the features from each capture. It shows how a name is used, so that a base
# class `Plugin` and a called function `Plugin` are two features.
FEATURE_PREFIXES: Final[Mapping[str, str]] = {
    "decorator": "@",
    "base": "<",
    "call": "()",
    "macro": "!",
    "error": "^",
    "param": "~",
    "type": ":",
    "returns": "->",
    "key": "#",
    "receiver": "in ",
}

_PYTHON = """
(function_definition) @function
(class_definition) @class
(decorator [(identifier) @decorator (attribute attribute: (identifier) @decorator)
            (call function: [(identifier) @decorator (attribute attribute: (identifier) @decorator)])])
(class_definition superclasses: (argument_list
  [(identifier) @base (attribute attribute: (identifier) @base) (subscript value: (identifier) @base)]))
(call function: [(identifier) @call (attribute attribute: (identifier) @call)])
(parameters [(identifier) @param (typed_parameter (identifier) @param) (default_parameter name: (identifier) @param)
             (typed_default_parameter name: (identifier) @param)])
(parameters (_ type: (type [(identifier) @type (attribute attribute: (identifier) @type)
                              (generic_type . (identifier) @type)])))
(function_definition return_type: (type [(identifier) @returns (attribute attribute: (identifier) @returns)
                                         (generic_type . (identifier) @returns)]))
(raise_statement
  [(identifier) @error (call function: [(identifier) @error (attribute attribute: (identifier) @error)])])
(except_clause [(identifier) @error (attribute attribute: (identifier) @error) (as_pattern (identifier) @error)])
"""

_JAVASCRIPT = """
[(function_declaration) (generator_function_declaration) (method_definition)] @function
(variable_declarator value: [(arrow_function body: (statement_block)) (function_expression)]) @function
(class_declaration) @class
(decorator [(identifier) @decorator (call_expression function: (identifier) @decorator)])
(call_expression function: [(identifier) @call (member_expression property: (property_identifier) @call)])
(new_expression constructor: (identifier) @call)
(throw_statement (new_expression constructor: (identifier) @error))
(pair key: (property_identifier) @key)
(object (method_definition name: (property_identifier) @key))
(jsx_opening_element name: (identifier) @call)
(jsx_self_closing_element name: (identifier) @call)
"""
_JAVASCRIPT_ONLY = """
(class_heritage (identifier) @base)
(formal_parameters (identifier) @param)
"""
_TYPESCRIPT = """
(abstract_class_declaration) @class
(class_heritage [(extends_clause value: (identifier) @base) (implements_clause (type_identifier) @base)
                 (implements_clause (generic_type name: (type_identifier) @base))])
(required_parameter pattern: (identifier) @param)
(required_parameter type: (type_annotation [(type_identifier) @type (generic_type name: (type_identifier) @type)]))
(_ return_type: (type_annotation [(type_identifier) @returns (generic_type name: (type_identifier) @returns)]))
[(interface_declaration name: (type_identifier) @name) (type_alias_declaration name: (type_identifier) @name)]
(variable_declarator type: (type_annotation [(type_identifier) @type (generic_type name: (type_identifier) @type)]))
"""
_JAVASCRIPT_WITHOUT_JSX = _JAVASCRIPT.replace("(jsx_opening_element name: (identifier) @call)\n", "").replace(
    "(jsx_self_closing_element name: (identifier) @call)\n", ""
)

_GO = """
[(function_declaration) (method_declaration)] @function
(type_declaration (type_spec type: [(struct_type) (interface_type)])) @class
(call_expression function: [(identifier) @call (selector_expression field: (field_identifier) @call)])
(composite_literal type: [(type_identifier) @call (qualified_type name: (type_identifier) @call)])
(method_declaration receiver: (parameter_list (parameter_declaration type: [
  (type_identifier) @receiver (pointer_type (type_identifier) @receiver)
  (generic_type type: (type_identifier) @receiver) (pointer_type (generic_type type: (type_identifier) @receiver))])))
(method_declaration parameters: (parameter_list (parameter_declaration type: [
  (type_identifier) @type (pointer_type [(type_identifier) @type (qualified_type name: (type_identifier) @type)])
  (qualified_type name: (type_identifier) @type)])))
(function_declaration parameters: (parameter_list (parameter_declaration type: [
  (type_identifier) @type (pointer_type [(type_identifier) @type (qualified_type name: (type_identifier) @type)])
  (qualified_type name: (type_identifier) @type)])))
(method_declaration result: [(type_identifier) @returns (pointer_type (type_identifier) @returns)])
(function_declaration result: [(type_identifier) @returns (pointer_type (type_identifier) @returns)])
(type_declaration [(type_spec name: (type_identifier) @name) (type_alias name: (type_identifier) @name)])
(keyed_element key: (literal_element (identifier) @key))
"""

_RUST = """
(function_item) @function
[(impl_item) (trait_item)] @class
(attribute_item (attribute [(identifier) @decorator (scoped_identifier name: (identifier) @decorator)]))
(impl_item trait: [(type_identifier) @base (generic_type type: (type_identifier) @base)
                   (scoped_type_identifier name: (type_identifier) @base)
                   (generic_type type: (scoped_type_identifier name: (type_identifier) @base))])
(call_expression function: [(identifier) @call (scoped_identifier name: (identifier) @call)
                            (field_expression field: (field_identifier) @call)
                            (generic_function function: [(identifier) @call (scoped_identifier name: (identifier) @call)
                                                         (field_expression field: (field_identifier) @call)])])
(macro_invocation macro: [(identifier) @macro (scoped_identifier name: (identifier) @macro)])
(token_tree (identifier) @call . (token_tree))
(struct_expression name: (type_identifier) @call)
(parameter pattern: (identifier) @param)
(parameter type: [(type_identifier) @type (reference_type type: (type_identifier) @type)
                  (reference_type type: (generic_type type: (type_identifier) @type))
                  (generic_type type: (type_identifier) @type)
                  (generic_type type: (scoped_type_identifier name: (type_identifier) @type))
                  (abstract_type trait: (generic_type type: (type_identifier) @type))
                  (abstract_type trait: (type_identifier) @type)])
(function_item return_type: [(type_identifier) @returns (generic_type type: (type_identifier) @returns)
                             (generic_type type: (scoped_type_identifier name: (type_identifier) @returns))])
[(struct_item name: (type_identifier) @name) (enum_item name: (type_identifier) @name)
 (macro_definition name: (identifier) @name)]
"""

_JAVA = """
[(method_declaration) (constructor_declaration)] @function
[(class_declaration) (enum_declaration) (record_declaration)] @class
(object_creation_expression (class_body)) @class
(marker_annotation name: (identifier) @decorator)
(annotation name: (identifier) @decorator)
(superclass [(type_identifier) @base (generic_type (type_identifier) @base)])
(super_interfaces (type_list [(type_identifier) @base (generic_type (type_identifier) @base)]))
(object_creation_expression type: [(type_identifier) @base (generic_type (type_identifier) @base)] (class_body))
(method_invocation name: (identifier) @call)
(object_creation_expression type: [(type_identifier) @call (generic_type . (type_identifier) @call)])
(formal_parameter type: [(type_identifier) @type (generic_type . (type_identifier) @type)])
(method_declaration type: [(type_identifier) @returns (generic_type . (type_identifier) @returns)])
[(interface_declaration name: (identifier) @name) (annotation_type_declaration name: (identifier) @name)]
(formal_parameter name: (identifier) @param)
(throws (type_identifier) @error)
(catch_type (type_identifier) @error)
(throw_statement (object_creation_expression type: (type_identifier) @error))
"""

QUERIES: Final[Mapping[str, str]] = {
    "python": _PYTHON,
    "javascript": _JAVASCRIPT + _JAVASCRIPT_ONLY,
    "typescript": _JAVASCRIPT_WITHOUT_JSX + _TYPESCRIPT,
    "tsx": _JAVASCRIPT + _TYPESCRIPT,
    "go": _GO,
    "rust": _RUST,
    "java": _JAVA,
}
