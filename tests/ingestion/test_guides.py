"""Contributor and agent pages: discovery, scope and imports."""

from __future__ import annotations

import pytest

from hunchd.ingestion.guides import MAX_GUIDES, GuideScope, find_guides, is_guide, may_define_guides, resolve_link


def collect_scopes(files: dict[str, str], links: dict[str, str] | None = None) -> dict[str, list[GuideScope]]:
    found: dict[str, list[GuideScope]] = {}
    for guide in find_guides(files, lambda path: files.get(path, ""), links or {}).guides:
        found.setdefault(guide.path, []).append(guide.scope)
    return found


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("AGENTS.md", ""),
        ("agents.md", ""),
        (".github/AGENTS.md", ""),
        ("docs/CONTRIBUTING.rst", ""),
        ("web/app/CLAUDE.md", "web/app"),
        (".claude/CLAUDE.md", ""),
        ("web/.claude/rules/deep/tests.md", "web"),
        (".cursorrules", ""),
        ("apps/api/.cursorrules", "apps/api"),
        (".cursor/rules/ui.mdc", ""),
        ("apps/api/.cursor/rules/deep/er/ui.mdc", "apps/api"),
        (".github/copilot-instructions.md", ""),
        ("ext/.github/copilot-instructions.md", "ext"),
        (".github/instructions/cs/tests.instructions.md", ""),
        (".windsurfrules", ""),
        (".windsurf/rules/style.md", ""),
        (".clinerules", ""),
        (".clinerules/general.md", ""),
        ("core/.clinerules/storage.txt", "core"),
        (".junie/guidelines.md", ""),
        (".kiro/steering/tech.md", ""),
        ("CONVENTIONS.md", ""),
        ("web/CONTRIBUTING.md", "web"),
        ("docs/Guides/Contributing.md", ""),
        (".github/commit-convention.md", ""),
        (".github/PULL_REQUEST_TEMPLATE.md", ""),
        ("RELEASE-CHECKLIST.md", ""),
        ("DEVELOPMENT.md", ""),
    ],
)
def test_guide_applies_to_its_folder(path: str, part: str) -> None:
    assert is_guide(path)
    assert collect_scopes({path: "Never guess."}) == {path: [GuideScope(part)]}


@pytest.mark.parametrize(
    "path",
    [
        "README.md", "src/agents.py", "web/CONVENTIONS.md", "a/b/c/d/e/AGENTS.md",
        ".cursor/rules/ui.md", ".cursor/mcp.json", ".cursor/commands/fix.md", ".github/workflows/ci.yml",
        ".github/prompts/a.prompt.md", ".github/instructions/readme.md", ".windsurf/workflows/release.md",
        ".clinerules/workflows/release.md", ".clinerules/hooks/README.md", ".kiro/specs/a/design.md",
        ".kiro/steering/deep/a.md", "docs/concepts/agents.mdx", ".aider.conf.yml", "x.cursorrules",
    ],
)  # fmt: skip
def test_files_beside_guides_are_no_guides(path: str) -> None:
    assert not is_guide(path)


def test_aider_settings_may_define_guides() -> None:
    assert may_define_guides(".aider.conf.yml")
    assert not may_define_guides("web/.aider.conf.yml")


CURSOR, COPILOT, WINDSURF = ".cursor/rules/a.mdc", ".github/instructions/a.instructions.md", ".windsurf/rules/a.md"
CLINE, CLAUDE, KIRO = ".clinerules/a.md", ".claude/rules/a.md", ".kiro/steering/a.md"


def some(*globs: str) -> GuideScope:
    return GuideScope(globs=globs)


def make_on_demand_scope(about: str = "") -> GuideScope:
    return GuideScope(on_demand=True, description=about)


@pytest.mark.parametrize(
    ("path", "settings", "place"),
    [
        (CURSOR, "description: UI\nglobs: src/**/*.tsx\nalwaysApply: false", some("src/**/*.tsx")),
        (CURSOR, "globs: *.ts,*.tsx", some("**/*.ts", "**/*.tsx")),
        (CURSOR, 'globs:\n  - src/**\n  - "lib/**"\n', some("src/**", "lib/**")),
        (CURSOR, "description: UI\nglobs: src/**\nalwaysApply: true", GuideScope()),
        (CURSOR, 'globs: "**/*"\nalwaysApply: false', GuideScope()),
        (CURSOR, "description: Forms\nglobs:\nalwaysApply: false", make_on_demand_scope("Forms")),
        (CURSOR, "description: Forms", make_on_demand_scope("Forms")),
        (CURSOR, "description:\nglobs:\nalwaysApply: false", make_on_demand_scope()),
        (CURSOR, "globs:\n", GuideScope()),
        (CURSOR, "name: plain", GuideScope()),
        (CURSOR, "globs: src/**\nthis is no setting", GuideScope()),
        (f"web/{CURSOR}", "globs: src/**", GuideScope("web", ("src/**",))),
        (COPILOT, "applyTo: 'src/*.cs,*.md'", some("src/*.cs", "*.md")),
        (COPILOT, 'applyTo: "**"\nexcludeAgent: "code-review"', GuideScope()),
        (COPILOT, "description: Reviews", make_on_demand_scope("Reviews")),
        (WINDSURF, "trigger: always_on\nglobs: src/**", GuideScope()),
        (WINDSURF, 'trigger: glob\nglobs: "src/**/*.ts,lib/**"', some("src/**/*.ts", "lib/**")),
        (WINDSURF, "trigger: model_decision\ndescription: In Rust\nglobs: **/*.rs", make_on_demand_scope("In Rust")),
        (WINDSURF, "trigger: manual", make_on_demand_scope()),
        (CLINE, 'paths:\n  - "src/ui/**"\n  - "src/hooks/**"', some("src/ui/**", "src/hooks/**")),
        (CLINE, "description: Ours", GuideScope()),
        (CLAUDE, "paths: src/**/*.{ts,tsx}", some("src/**/*.ts", "src/**/*.tsx")),
        (KIRO, "inclusion: always", GuideScope()),
        (KIRO, "inclusion: fileMatch\nfileMatchPattern: ['*.tf', 'infra/**']", some("**/*.tf", "infra/**")),
        (KIRO, "inclusion: manual", make_on_demand_scope()),
        ("AGENTS.md", "description: Ours\nglobs: src/**", GuideScope()),
    ],
)
def test_rule_settings_define_scope(path: str, settings: str, place: GuideScope) -> None:
    for newline in ("\n", "\r\n"):
        page = f"---\n{settings.strip()}\n---\nNever guess.\n".replace("\n", newline)
        assert collect_scopes({path: page}) == {path: [place]}


def test_invalid_settings_are_plain_text() -> None:
    def text(page: str) -> str:
        [guide] = find_guides([".cursor/rules/a.mdc"], lambda _: page, {}).guides
        return guide.text

    assert text("---\nglobs: src/**\n---\n# Rules\n") == "# Rules\n"
    for page in ("---\nglobs: src/**\n# Rules\n", "---\nglobs: src/**\nno setting\n---\n# Rules\n"):
        assert text(page) == page


def test_agent_guides_differ_from_newcomer_guides() -> None:
    paths = [
        "AGENTS.md",
        "CONTRIBUTING.md",
        ".github/instructions/readme-style.instructions.md",
        ".kiro/steering/README.md",
    ]
    asked = {guide.path: guide.is_for_agents for guide in find_guides(paths, lambda _: "", {}).guides}
    assert asked == dict(zip(paths, (True, False, True, False), strict=True))


def test_comments_are_stripped() -> None:
    [guide] = find_guides(["AGENTS.md"], lambda _: "a<!-- Add\nrules -->b<!---->c<!-- open", {}).guides
    assert guide.text == "abc<!-- open"


def test_claude_guide_imports_other_pages() -> None:
    files = {
        "CLAUDE.md": "See @docs/style.md, and @./docs/more.md.\n\n- @.claude/rules/tests.md\n"
        "`@docs/code.md`\n```\n@docs/code.md\n```\n@package.json @~/.claude/own.md @/etc/passwd.md\n"
        "@../outside.md @docs/gone.md me@example.org @param",
        "docs/style.md": "---\ntitle: Style\n---\nNever guess.",
        "docs/more.md": "@deep/er.md @style.md @../CLAUDE.md",
        "docs/deep/er.md": "Never dig.",
        "docs/code.md": "Never show this.",
        "package.json": "{}",
        ".claude/rules/tests.md": "---\npaths: tests/**\n---\nNever mock.",
        "web/CLAUDE.md": "@../docs/style.md",
        "AGENTS.md": "@docs/code.md",
    }
    assert collect_scopes(files) == {
        "AGENTS.md": [GuideScope()],
        "CLAUDE.md": [GuideScope()],
        "docs/style.md": [GuideScope(), GuideScope("web")],
        "docs/more.md": [GuideScope()],
        "docs/deep/er.md": [GuideScope()],
        ".claude/rules/tests.md": [GuideScope(), GuideScope(globs=("tests/**",))],
        "web/CLAUDE.md": [GuideScope("web")],
    }
    found = find_guides(files, lambda path: files.get(path, ""), {})
    assert {"docs/style.md", "docs/gone.md"} <= found.imported_paths, "they are read again when somebody writes them"
    assert not any(path.startswith(("..", "/", "~")) for path in found.imported_paths)


@pytest.mark.parametrize(
    ("settings", "read"),
    [
        ("read: docs/rules.md", ["docs/rules.md"]),
        ("read: [docs/rules.md, docs/more.md, .env, ../x.md]", ["docs/more.md", "docs/rules.md"]),
        ("model: m\nread:\n  - docs/more.md # ours\n", ["docs/more.md"]),
        ("model: m", []),
    ],
)
def test_aider_read_list_defines_guides(settings: str, read: list[str]) -> None:
    files = {".aider.conf.yml": settings, "docs/rules.md": "Never guess.", "docs/more.md": "Never ask.", ".env": ""}
    assert collect_scopes(files) == {path: [GuideScope()] for path in read}


def test_link_to_site_finds_source_page() -> None:
    files = {
        "CONTRIBUTING.md": "See [the guide](https://kiln.example/latest/contributing/testing/) and\n"
        "https://kiln.example/api/index.html.",
        "docs/latest/contributing/testing.md": "Never guess.",
        "docs/old/contributing/testing.md": "Never ask.",
        "docs/api/index.md": "Prefer a kiln.",
    }
    assert collect_scopes(files) == {
        "CONTRIBUTING.md": [GuideScope()],
        "docs/latest/contributing/testing.md": [GuideScope()],
    }


def test_symlink_target_becomes_guide() -> None:
    files = {"AGENTS.md": "Never guess.", ".ai/rules.md": "Never ask."}
    assert collect_scopes(
        files, {"CLAUDE.md": "AGENTS.md", ".cursorrules": ".ai/rules.md", "GEMINI.md": "gone.md"}
    ) == {
        "AGENTS.md": [GuideScope()],
        ".ai/rules.md": [GuideScope()],
    }
    assert resolve_link(".github/copilot-instructions.md", "../AGENTS.md") == "AGENTS.md"
    assert resolve_link("CLAUDE.md", "../AGENTS.md") is None
    assert resolve_link("CLAUDE.md", "/etc/passwd") is None


def test_cyclic_and_excessive_imports_terminate() -> None:
    ring = {f"docs/{number}.md": f"@{(number + 1) % 9}.md @{number}.md" for number in range(9)}
    assert len(collect_scopes({"CLAUDE.md": "@docs/0.md", **ring})) == 6
    many = {f".cursor/rules/{number}.mdc": "Never guess." for number in range(2 * MAX_GUIDES)}
    assert len(collect_scopes(many)) == MAX_GUIDES
