"""Outlines: correct symbols for every language, and a result for any bytes."""

# ruff: noqa: E501 - one row of a table, one line

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunchd.domain.code import FileOutline
from hunchd.ingestion import parsing
from hunchd.ingestion.grammars import GRAMMARS
from hunchd.ingestion.headings import extract_headings, get_title
from hunchd.ingestion.parsing import blob_id, parse_outline

PYTHON = b'''"""Serves things."""
from __future__ import annotations
import os.path as p, sys
from . import sibling
from .deep.er import (one, two as three)

LIMIT: int = 3
if sys.platform:
    import conditional

@decorated
class Server(Base, metaclass=Meta):
    """Answers requests.

    More."""
    port: int = 80

    async def serve(
        self,
        host: str = "::",  # where
        *,
        port: int,
    ) -> None:
        """Serve until told otherwise."""
        import lazy
        unknown_name(helper(LIMIT))

def helper(x): pass
'''


def list_symbols(outline: FileOutline) -> list[tuple[str, str, str]]:
    return [(symbol.kind, symbol.container, symbol.name) for symbol in outline.symbols]


def test_python_symbols_are_in_file_order() -> None:
    outline = parse_outline("server.py", PYTHON)
    assert list_symbols(outline) == [
        ("constant", "", "LIMIT"),
        ("class", "", "Server"),
        ("field", "Server", "port"),
        ("method", "Server", "serve"),
        ("function", "", "helper"),
    ]
    assert (outline.language, outline.doc, outline.lines) == ("python", "Serves things.", 28)


def test_signature_is_one_line_without_body() -> None:
    server, serve = parse_outline("server.py", PYTHON).symbols[1], parse_outline("server.py", PYTHON).symbols[3]
    assert server.signature == "class Server(Base, metaclass=Meta)"
    assert serve.signature == 'async def serve(self, host: str = "::", *, port: int) -> None'
    assert (serve.line, serve.end_line, serve.doc) == (18, 26, "Serve until told otherwise.")


def test_long_type_parameters_are_shortened() -> None:
    source = (
        b"export function useQuery<\n  TData = unknown,\n  TError = DefaultError,\n  TKey extends Key = Key,\n>(\n"
        b"  options: Options<\n    TData,\n    TError\n  >,\n): Result<TData> { }\nfunction id<T>(one: T): T { }\n"
    )
    assert [symbol.signature for symbol in parse_outline("a.ts", source).symbols] == [
        "export function useQuery<…>(options: Options<TData, TError>): Result<TData>",
        "function id<T>(one: T): T",
    ]


@pytest.mark.parametrize("filler", [" ", "#", "# ", "[", "<a "])
def test_very_long_heading_is_parsed_quickly(filler: str) -> None:
    title = "Ends" + filler * (60_000 // len(filler)) + "b"
    [symbol] = extract_headings("markdown", f"# {title}\n")
    assert symbol.name.startswith("Ends")
    assert get_title(f"title: '{title}'") == title


def test_trailing_heading_marks_are_stripped() -> None:
    found = extract_headings("markdown", "# One #\n## Two ##  \n### Three\n#\n")
    assert [symbol.name for symbol in found] == ["One", "Two", "Three"]


def test_notebook_headings_have_file_lines() -> None:
    source = json.dumps(
        {
            "cells": [
                {"cell_type": "code", "source": ["fit(model)"], "outputs": [{"text": "x" * 20_000 + " printed"}]},
                {"cell_type": "markdown", "source": ["How trees are grown by splits.\n", "\n", "# Über trees\n", "y"]},
            ]
        },
        indent=1,
        ensure_ascii=False,
    )
    outline = parse_outline("a.ipynb", source.encode())
    assert [source.splitlines()[symbol.line - 1].strip() for symbol in outline.symbols] == ['"# Über trees\\n",']
    assert {"fit", "model", "grown"} <= set(outline.words)
    assert "printed" not in outline.words
    assert outline.doc == "How trees are grown by splits."


def test_license_file_has_no_doc_line() -> None:
    assert parse_outline("LICENSE", b"Copyright (c) 2016, Somebody at home\nAll rights reserved.\n").doc == ""
    assert parse_outline("notes.txt", b"How the shop is deployed today.\n").doc == "How the shop is deployed today."


def test_imports_are_kept_as_written() -> None:
    assert parse_outline("server.py", PYTHON).imports == (
        "os.path", "sys", ".", ".sibling", ".deep.er", ".deep.er.one", ".deep.er.two", "conditional", "lazy",
    )  # fmt: skip


def test_references_exclude_labels_of_values() -> None:
    source = (
        b"def run(given_option: Setting):\n    build(strip_extras=False, limit=MAX_SIZE)\n    return other_name == 1\n"
    )
    references = parse_outline("run.py", source).references
    assert {"Setting", "build", "MAX_SIZE", "other_name"} <= set(references)
    assert not {"given_option", "strip_extras", "limit"} & set(references)
    used = parse_outline("run.py", source + b"strip_extras()\n").references
    assert "strip_extras" in used, "it is called as well"


def test_references_exclude_definitions_comments_and_strings() -> None:
    references = parse_outline("server.py", PYTHON).references
    assert {"Base", "Meta", "unknown_name", "decorated"} <= set(references)
    assert not {"Server", "helper", "LIMIT", "Answers", "where", "class", "def"} & set(references)


def test_words_include_code_and_prose() -> None:
    words = parse_outline("server.py", PYTHON).words
    assert words["LIMIT"] == 2
    assert words["requests"] == 1


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        (
            "a.ts",
            b"import x, {y} from './x';\nexport default class A<T> extends B { private n = 1; async go(a: string): Promise<void> {} }\n"
            b"export const make = (a: number): string => { return '' }\nexport interface I { m(): void }\nenum E { A }\n"
            b"export type T = { a: 1 }\nnamespace N { export function inner() {} }\n",
            [("class", "", "A"), ("field", "A", "n"), ("method", "A", "go"), ("function", "", "make"),
             ("interface", "", "I"), ("method", "I", "m"), ("enum", "", "E"), ("type", "", "T"), ("module", "", "N"),
             ("function", "N", "inner")],
        ),
        (
            "a.js",
            b"const a = require('./a');\nexports.f = function (x) {}\nmodule.exports = function main() {}\n"
            b"Thing.prototype.go = function () {}\nexport default class { constructor() {} }\n",
            [("function", "", "f"), ("function", "", "main"), ("method", "Thing", "go"), ("class", "", "default"),
             ("method", "default", "constructor")],
        ),
        ("a.tsx", b"export function Button(p: Props) { return <b>{p.x}</b> }\n", [("function", "", "Button")]),
        (
            "a.go",
            b"package a\nconst (\n\tA = 1\n)\ntype S struct { X int }\ntype I interface { M() error }\ntype F func(int)\n"
            b"func (s *S) Do(x int) error { return nil }\nfunc New() *S { return nil }\n",
            [("constant", "", "A"), ("struct", "", "S"), ("field", "S", "X"), ("interface", "", "I"),
             ("method", "I", "M"), ("type", "", "F"), ("method", "S", "Do"), ("function", "", "New")],
        ),
        (
            "a.rs",
            b"pub struct S<T> { a: T }\nimpl<T> S<T> where T: X { pub fn new() -> Self {} }\npub trait T { fn m(&self); }\n"
            b"enum E { A }\nmacro_rules! mm { () => {} }\ncfg_rt! {\n  pub fn hidden(a: u32) {}\n}\n",
            [("struct", "", "S"), ("field", "S", "a"), ("method", "S", "new"), ("trait", "", "T"), ("method", "T", "m"),
             ("enum", "", "E"), ("macro", "", "mm"), ("function", "", "hidden")],
        ),
        (
            "A.java",
            b"class A<T> extends B { private static final int X = 1; A(int a) {} @Override public String f(int a) { return null; } }\n"
            b"interface I { void m(); }\nrecord R(int a) {}\n",
            [("class", "", "A"), ("field", "A", "X"), ("method", "A", "A"), ("method", "A", "f"),
             ("interface", "", "I"), ("method", "I", "m"), ("class", "", "R")],
        ),
        (
            "a.c",
            b"#define GUARD\n#define MAX(a) a\nstruct S { int a; };\nstatic char *f(int a) { return 0; }\nint g(void);\ntypedef struct { int a; } T;\n",
            [("macro", "", "MAX"), ("struct", "", "S"), ("field", "S", "a"), ("function", "", "f"),
             ("function", "", "g"), ("type", "", "T")],
        ),
        (
            "a.hpp",
            b"namespace a::b {\nclass K : public B { public: K(int a); int f() const { return 1; } int x; };\n"
            b"template <typename T>\nT most(T a) { return a; }\nint K::g() { return 1; }\nusing X = int;\n}\n",
            [("module", "", "a::b"), ("class", "a::b", "K"), ("method", "K", "K"), ("method", "K", "f"),
             ("field", "K", "x"), ("function", "a::b", "most"), ("method", "K", "g"), ("type", "a::b", "X")],
        ),
        (
            "a.cs",
            b"namespace A.B { [Attr] public class K { public int X { get; set; } public K(int a) {} string F(int a) => \"\"; } enum E {A} }\n",
            [("module", "", "A.B"), ("class", "A.B", "K"), ("field", "K", "X"), ("method", "K", "K"),
             ("method", "K", "F"), ("enum", "A.B", "E")],
        ),
        (
            "a.rb",
            b"module M\n  class A < B\n    X = 1\n    def foo(a, b: 1)\n    end\n    def self.bar; end\n  end\nend\n",
            [("module", "", "M"), ("class", "M", "A"), ("constant", "A", "X"), ("method", "A", "foo"),
             ("method", "A", "bar")],
        ),
        (
            "a_spec.rb",
            b"RSpec.describe A::B do\n  context 'when new' do\n    it \"is 'it'\" do\n      x { 1 }\n    end\n  end\nend\n"
            b"class T < Minitest::Test\n  it('adds') { 1 }\n  test 'no block'\n  puts 'no'\nend\n",
            [("test", "", "A::B"), ("test", "A::B", "when new"), ("test", "when new", "is 'it'"), ("class", "", "T"),
             ("test", "T", "adds")],
        ),
        (
            "a.php",
            b"<?php\nabstract class K { const X = 1; public $y; public function foo(int $a): string { } }\nfunction f($a) {}\n",
            [("class", "", "K"), ("constant", "K", "X"), ("field", "K", "y"), ("method", "K", "foo"),
             ("function", "", "f")],
        ),
        ("run", b"#!/usr/bin/env bash\nNAME=1\nf() { echo; }\n", [("variable", "", "NAME"), ("function", "", "f")]),
        ("a.json", b'{"a": {"b": {"c": 1}}, "d": 2}', [("key", "", "a"), ("key", "a", "b"), ("key", "", "d")]),
        ("a.yml", b"a:\n  b:\n    c: 1\nd: 2\n", [("key", "", "a"), ("key", "a", "b"), ("key", "", "d")]),
        ("a.toml", b"x = 1\n[a.b]\nc = 2\n", [("key", "", "x"), ("section", "", "a.b"), ("key", "a.b", "c")]),
        ("a.md", b"# One\n\n```\n# no\n```\n## Two `x`\n", [("heading", "", "One"), ("heading", "One", "Two x")]),
        ("b.md", b"---\nid: x\ntitle: Page\nref: y\n---\n\n## Part\n", [("heading", "", "Page"), ("heading", "Page", "Part")]),
        ("c.md", b"---\ntitle: Page\n---\n# Top ![ok](https://ci/b.svg)\n", [("heading", "", "Top")]),
        ("e.md", b"# Case\\.Fold\\(this string\\) `x`\n", [("heading", "", "Case.Fold(this string) x")]),
        ("d.md", b"Name [![ci](https://a/b(c).svg)](https://d) <img src='e'>\n===\n", [("heading", "", "Name")]),
        (
            "a.tf",
            b'resource "aws_queue" "my-own" {\n}\nvariable "name" {\n}\n',
            [("block", "", "aws_queue.my-own"), ("block", "", "name")],
        ),
        (
            "a.ipynb",
            b'{"cells": [{"cell_type": "markdown", "source": ["# Regression\\n", "x"], "metadata": {}},\n'
            b'{"cell_type": "code", "source": "# no heading", "outputs": ["# none"]}]}',
            [("heading", "", "Regression")],
        ),
        ("b.ipynb", b"# no notebook", []),
        ("a.rst", b"Title\n=====\n\nPart\n----\n", [("heading", "", "Title"), ("heading", "Title", "Part")]),
        ("Makefile", b"X := 1\n.PHONY: test\ntest: build\n\tpytest\n", [("target", "", "test")]),
        ("a.kt", b"data class Point(val x: Int)\nfun main() {\n}\n", [("class", "", "Point"), ("function", "", "main")]),
        ("a.vue", b"<template><b/></template>\n<script setup>\nfunction go() {}\n</script>\n", [("function", "", "go")]),
    ],
)  # fmt: skip
def test_definitions_of_every_language(path: str, source: bytes, expected: list[tuple[str, str, str]]) -> None:
    assert list_symbols(parse_outline(path, source)) == expected


def test_every_grammar_and_query_loads() -> None:
    for name in GRAMMARS:
        assert parsing._load_grammar(name).language is not None


@pytest.mark.parametrize(
    ("path", "source", "imports"),
    [
        (
            "a.ts",
            b"import x from './x'\nexport * from '../y'\nconst l = () => import('./lazy')\n",
            ("./x", "../y", "./lazy"),
        ),
        ("a.go", b'package a\nimport (\n  "fmt"\n  g "github.com/a/b"\n)\n', ("fmt", "github.com/a/b")),
        (
            "a.rs",
            b"use std::{fmt, io::{self, Read}};\nmod child;\n",
            ("std::fmt", "std::io", "std::io::Read", "mod::child"),
        ),
        ("A.java", b"import java.util.List;\nimport static a.b.C.*;\n", ("java.util.List", "a.b.C")),
        ("a.c", b'#include <stdio.h>\n#include "a/b.h"\n', ("stdio.h", "a/b.h")),
        ("a.rb", b"require 'a/b'\nrequire_relative 'c'\nputs 'd'\n", ("a/b", "./c")),
        ("a.php", b"<?php\nuse A\\B; use C\\{D, E};\nrequire_once 'x.php';\n", ("A\\B", "C\\D", "C\\E", "x.php")),
        ("a.cs", b"using System.Linq;\nusing static A.B;\n", ("System.Linq", "A.B")),
        ("a.sh", b"source ./lib.sh\n. other.sh\necho no\n", ("./lib.sh", "other.sh")),
    ],
)
def test_imports_of_every_language(path: str, source: bytes, imports: tuple[str, ...]) -> None:
    assert parse_outline(path, source).imports == imports


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("image.py", b"\x89PNG\0\0\0"),
        ("big.py", b"x = 1\n" * 200_000),
        ("bundle.js", b"var a=1;" * 2_000),
        ("a.min.js", b"function a(){}\n"),
        ("package-lock.json", b'{"a": 1}'),
        ("poetry.lock", b'[[package]]\nname = "a"\n'),
        ("empty.py", b""),
    ],
)
def test_generated_file_has_only_size(path: str, source: bytes) -> None:
    outline = parse_outline(path, source)
    assert (outline.symbols, dict(outline.words), outline.imports) == ((), {}, ())
    assert outline.size == len(source)


def test_invalid_utf8_is_parsed_leniently() -> None:
    outline = parse_outline("a.py", b"# caf\xe9 \xff\ndef caf\xc3\xa9(): pass\nclass B: pass\n")
    assert [symbol.name for symbol in outline.symbols] == ["café", "B"]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.py", b"(" * 200_000 + b"\n"),
        ("a.py", b"\n".join(b" " * depth + b"if x:" for depth in range(2_000))),
        ("a.py", b"class A:\n def f(self):\n" * 5_000),
        ("a.js", b"{[(\n" * 50_000),
        ("a.json", b'[\n' * 100_000),
        ("a.yaml", b"\n".join(b" " * depth + b"a:" for depth in range(1_200))),
        ("a.rs", b"m! {\n" * 20_000),
        ("a.cpp", b"template <\n" * 30_000),
        ("a.ts", b"function f(a: {\n" * 30_000),
        ("a.md", b"#" * 9_000 + b"\n" + b"[a](" * 2_000),
        ("a.rb", b"def a\n" * 30_000),
    ],
)  # fmt: skip
def test_hostile_nesting_is_bounded(path: str, source: bytes) -> None:
    outline = parse_outline(path, source)
    assert outline.size == len(source)


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=400), st.sampled_from(["a.py", "a.ts", "a.rs", "a.cpp", "a.yaml", "a.rb", "a.php", "a.md", "a"])
)
def test_any_bytes_never_raise(source: bytes, path: str) -> None:
    outline = parse_outline(path, source)
    assert outline.blob == blob_id(source)
    assert all(symbol.line >= 1 and "\n" not in symbol.signature for symbol in outline.symbols)


def test_parse_timeout_keeps_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "PARSE_SECONDS", -1.0)
    outline = parse_outline("a.py", b"def findable(): pass\n" * 2_000)
    assert outline.symbols == ()
    assert outline.words["findable"] == 2_000


def test_blob_id_equals_git() -> None:
    assert blob_id(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert blob_id(b"") == hashlib.sha1(b"blob 0\0", usedforsecurity=False).hexdigest()


def test_outline_has_no_secrets() -> None:
    # Assembled here, so that no secret scanner reports this file.
    token = "ghp_" + "x9Kq2LmB7vTzR4wYc8NdPs1FgHjE0aUo3iQ5"
    password = "hunter2-Xk9" + "QpLm"
    source = f'''"""Uses {token}."""
PASSWORD = "{password}"
def connect(password="{password}", token="{token}"): pass
url = "postgres://me:{password}@db/x"
'''
    kept = repr(parse_outline("a.py", source.encode()))
    assert token not in kept
    assert password not in kept
    assert "connect" in kept


def test_configuration_values_are_no_symbols() -> None:
    outline = parse_outline("a.yaml", b"database:\n  host: internal.example.org\n")
    assert [symbol.signature for symbol in outline.symbols] == ["database", "host"]


def test_licenses_and_tool_directives_are_no_documentation() -> None:
    source = b"// Copyright 2020 The Authors. All rights reserved.\n// Licensed under MIT.\n\n// Routes requests.\npackage a\n"
    assert parse_outline("a.go", source).doc == "Routes requests."
    assert parse_outline("a.sh", b"#!/bin/bash\n# shellcheck disable=SC1\n# Builds it all.\nx=1\n").doc != "/bin/bash"


@pytest.mark.parametrize(
    ("source", "doc"),
    [
        ("/**\n * @fileoverview Collects the rules so that they\n * can be imported.\n * @author Ada\n */\nlet x\n",
         "Collects the rules so that they"),
        ("/*\n * WARNING: This file is autogenerated using the tool\n * script. Do not edit manually.\n */\nlet x\n", ""),
        ("// Copyright (c) the authors of this work and of\n// other works.\n\n// Routes requests.\nlet x\n",
         "Routes requests."),
    ],
)  # fmt: skip
def test_doc_line_skips_rest_of_license_sentence(source: str, doc: str) -> None:
    assert parse_outline("a.js", source.encode()).doc == doc


def test_definitions_in_prose_and_documentation_are_skipped() -> None:
    text = '''defmodule Shop do
  @moduledoc """
  Defines a

  module that invokes it.

      defmodule Example do
      def handle(x) do
  """
  def sell(item) when is_map(item) do
  # function for each item
  struct and it must return
  of which module you use
'''
    assert [symbol.name for symbol in extract_headings("elixir", text)] == ["Shop", "sell"]
