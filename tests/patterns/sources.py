"""Test sources that repeat a shape in each language: `{path: text}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NAMES: Final = ("toml", "yaml", "json", "plist")

PYTHON: Final = """
@register_format("{name}")
def load_{name}(source: TextSource, options):
    parser = parser_called("{name}", options)
    document = parser.read_all(source)
    if document is None:
        raise EmptyDocument("{name}")
    return checked_document(document)
"""
GO: Final = """package formats

func load{Name}(source TextSource) (*Document, error) {{
	parser := parserCalled("{name}")
	document, err := parser.ReadAll(source)
	if err != nil {{
		return nil, badDocument(err)
	}}
	return checkedDocument(document)
}}
"""
RUST: Final = """
impl Format for {Name}Format {{
    fn file_ending(&self) -> &str {{
        "{name}"
    }}

    fn load_document(&self, source: &TextSource) -> Result<Document, BadDocument> {{
        checked_document({name}_parser(source)?)
    }}
}}
"""
JAVA: Final = """package formats;

public final class {Name}Format extends TextFormat {{
  @RegisterFormat("{name}")
  public Document loadDocument(TextSource source) throws BadDocument {{
    DocumentParser parser = parserCalled("{name}");
    return checkedDocument(parser.readAll(source));
  }}
}}
"""
TYPESCRIPT: Final = """
export function {name}Format(options: FormatOptions): TextFormat {{
  const parser = parserCalled('{name}')
  return {{
    fileEnding: '.{name}',
    loadDocument(source) {{
      return checkedDocument(parser.readAll(source, options))
    }},
  }}
}}
"""
JAVASCRIPT: Final = """
test('{name} is loaded', async () => {{
  const document = await loadedFrom('fixtures/a.{name}')
  expect(checkedDocument(document)).toBe({number})
}})
"""
LANGUAGES: Final[Mapping[str, tuple[str, str]]] = {
    "python": ("formats/{name}.py", PYTHON),
    "go": ("formats/{name}.go", GO),
    "rust": ("src/formats/{name}.rs", RUST),
    "java": ("src/main/java/formats/{Name}Format.java", JAVA),
    "typescript": ("src/formats/{name}.ts", TYPESCRIPT),
    "javascript": ("tests/{name}.test.js", JAVASCRIPT),
}


def project(language: str, names: tuple[str, ...] = NAMES) -> dict[str, bytes]:
    """Build a file of the same shape for each name."""
    path, text = LANGUAGES[language]
    files = {}
    for number, name in enumerate(names):
        words = {"name": name, "Name": name.capitalize(), "number": number}
        files[path.format(**words)] = text.format(**words).encode()
    return files
