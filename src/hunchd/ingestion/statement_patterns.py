"""Regular expressions for sentences that state how things are done.

The module `statements` extracts facts from their matches.
"""

from __future__ import annotations

import re
from typing import Final


def _compile(*parts: str) -> re.Pattern[str]:
    return re.compile("".join(parts), re.IGNORECASE)


# A name: code in backticks or quotes, or up to four words, ending at a clause boundary.
WORD: Final = r"[\w@/+#&*$][\w@./+#:&<>*$-]*(?:\(\))?"
_NAME = rf"(?:``?[^`\n]{{1,60}}``?|\"[^\"\n]{{1,60}}\"|'[^'\n]{{1,60}}'|{WORD}(?: {WORD}){{0,3}}?)"
_CLAUSE_END = (
    r"(?=\s*$|\s*[.,;:!?()\[\]]|\s+[-–—#]|\s+(?:for|because|since|so|as|when|whenever|while|in|to|and|but|if|unless|on|by|"
    r"with|where|which|that|everywhere|now|here|from|at|this|these|last|today|due|via|during|across|throughout|instead|within|after|"
    r"before|of|per|thanks|according|it|we|they|is|are|was)\b)"
)
_STOP = r"(?=\s*$|\s*[.;!](?:\s|$)|,?\s+(?:because|since|so that|as it|as they|otherwise)\b|\s+[-–—]\s)"
_THE = r"(?:the\s+|a\s+|an\s+)?"
_WE = (
    r"(?:(?:we|you|i|everyone|everybody|the team|our team|this project|the project|this repo(?:sitory)?)\s+(?:all\s+)?"
    r"(?:now\s+|only\s+|have to\s+|must\s+|should\s+|will\s+|always\s+|currently\s+)?)"
)
_USE = (
    r"(?:use|uses|using|used|prefer|prefers|choose|chose|picked|pick|adopt|adopted|go with|went with|"
    r"standardi[sz]ed? on)"
)
_ALTERNATIVE = (
    r"(?:,?\s*(?:instead of|rather than|in place of|as opposed to)(?:\s+(?:the|using|a|an))?|\s+over|"
    r",\s*(?:and\s+)?(?:not|never|no longer)|\s+and not)"
)

INSTEAD: Final = _compile(
    rf"\b{_USE}\s+{_THE}(?P<x>{_NAME})(?:\s+now)?(?:\s+for\s+(?P<z>[\w ]{{3,30}}?))?{_ALTERNATIVE}",
    rf"\s+(?:the\s+)?(?P<y>{_NAME}){_CLAUSE_END}",
)
INSTEAD_FIRST: Final = _compile(
    rf"^\W*instead of\s+(?:using\s+)?(?P<y>{_NAME}),?\s+(?:we\s+)?(?:now\s+)?use\s+(?P<x>{_NAME}){_CLAUSE_END}"
)
SWITCHED_FROM_TO: Final = _compile(
    r"\b(?:switch(?:ed|ing|es)?|migrat(?:e|ed|ing|es|ion)|mov(?:e|ed|ing)|convert(?:ed|ing)?|chang(?:e|ed|ing)|",
    rf"port(?:ed|ing)?)\s+(?:(?P<z>{_NAME})\s+)?(?:over\s+)?from\s+{_THE}(?P<y>{_NAME})\s+(?:over\s+)?to\s+{_THE}",
    rf"(?:use\s+|using\s+)?(?P<x>{_NAME}){_CLAUSE_END}",
)
SWITCHED_TO: Final = _compile(
    r"\b(?:switch(?:ed|ing)?|migrat(?:e|ed|ing)|mov(?:e|ed|ing))\s+(?:(?P<z>[\w ]{3,30}?)\s+)?(?:over\s+)?to\s+",
    rf"(?:using\s+|use\s+)?(?P<x>{_NAME})(?:\s+(?:from|instead of)\s+(?P<y>{_NAME}))?{_CLAUSE_END}",
)
REPLACED_BY: Final = _compile(
    rf"\breplac(?:e|ed|es|ing)\s+{_THE}(?P<y>{_NAME})\s+(?:with|by)\s+{_THE}(?P<x>{_NAME}){_CLAUSE_END}"
)
IN_FAVOUR_OF: Final = _compile(
    r"\b(?:drop(?:ped|s|ping)?|remov(?:e|ed|es|ing)|deprecat(?:e|ed|es|ing)|abandon(?:ed)?|retire[ds]?|ditch(?:ed)?)\s+",
    rf"{_THE}(?P<y>{_NAME})\s+in favou?r of\s+{_THE}(?P<x>{_NAME}){_CLAUSE_END}",
)
RENAMED_TO: Final = _compile(
    rf"\brenam(?:e|ed|es|ing)\s+{_THE}(?P<y>{_NAME})\s+(?:to|into|->|=>|→)\s+(?P<x>{_NAME}){_CLAUSE_END}"
)

USE: Final = _compile(
    rf"^(?:{_WE}|(?:please|only|just)\s+)?(?:use|uses|using|run|runs)\s+(?:only\s+)?(?P<x>{_NAME})",
    r"(?:\s+(?:for|as)\s+(?:the\s+|our\s+|all\s+)?(?P<z>[\w -]{3,40}?))?",
    r"(?=\s*$|\s*[.,;!(]|\s+(?:because|since|so that|here|everywhere|now|only|in this|not)\b)",
)
WITH: Final = _compile(
    r"^(?:our |the |all )?(?P<k>tests?|linting|formatting|types?|type checking|builds?|docs|documentation|ci|logging|",
    r"migrations|releases|dependencies) (?:run|runs|are|is|are run|are done|is done|are built|is built|are written|",
    rf"are managed|goes through|go through) (?:with|on|using|by|through) (?P<x>{_NAME}){_CLAUSE_END}",
)
RULE: Final = _compile(
    r"^(?:please[,:]?\s+|note:?\s+|remember:?\s+(?:to\s+)?|",
    r"(?:you|we|i|everyone|contributors|developers|maintainers)\s+(?:should|must|shall|have to|need to)?\s*)?",
    r"(?P<how>always|never|do not|don['’]t|must not|mustn['’]t|should not|shouldn['’]t|avoid|",
    r"make sure to|be sure to)\s+",
    rf"(?:ever\s+)?(?P<what>\S.{{3,110}}?){_STOP}",
)
DECIDED_ON: Final = _compile(
    r"\b(?:we|i|they|team|it was)\s+(?:have\s+|has\s+|finally\s+)?(?:decided|agreed|resolved)\s+",
    rf"(?P<how>not to|against|to|that|on)\s+(?P<what>\S.{{3,140}}?){_STOP}",
)
# Object of a decision: the choice, its purpose, the alternative, and the reason.
CHOSEN_OPTION: Final = _compile(
    r"^(?P<x>\S.{0,60}?)(?:\s+for\s+(?P<k>[^,:;]{2,60}?))?",
    r"(?:,?\s+(?:and\s+)?(?:not|rather than|instead of|over)\s+(?P<y>[^,:;]{2,60}?))?(?:\s*[:;]\s+(?P<why>\S.*))?$",
)
PREFERENCE: Final = _compile(
    r"^(?:(?:i|we)\s+(?:(?:really|usually|generally|would)\s+)?|(?:the )?user\s+)?(?:prefers?|likes?)\s+",
    rf"(?P<x>\S.{{2,80}}?)(?:\s+(?:over|to|rather than|instead of)\s+(?P<y>{_NAME}))?",
    r"(?=\s*$|\s*[.;!](?:\s|$)|,?\s+(?:because|since|when|so that)\b)",
)
_RUNTIME = (
    r"python|node(?:\.js)?|rust|go|java|ruby|php|typescript|msrv|jdk|django|react|postgres(?:ql)?|kotlin|swift|"
    r"android|ios"
)
MINIMUM_VERSION: Final = _compile(
    r"\b(?:(?:the\s+)?(?:minimum|min\.?|lowest|oldest)(?:\s+(?:supported|required))?\s+",
    rf"(?P<a>{_RUNTIME})(?:\s+version)?\s*",
    r"(?:is|:|=|to|must be|remains|stays)?\s*",
    rf"|(?:we|this project|it)\s+(?:still\s+)?(?:supports?|requires?|targets?|needs?)\s+(?P<b>{_RUNTIME})\s*",
    rf"(?:version\s*)?|^requires?\s+(?P<c>{_RUNTIME})\s*)",
    r"(?P<x>(?:>=\s*)?v?\d+(?:\.\d+){0,2}\+?)",
    r"(?:\s+(?:or\s+(?:newer|later|higher|above)|and\s+(?:up|above|later|higher)))?(?=\s*$|[\s.,;!)])",
)
MINIMUM_VERSION_REVERSED: Final = _compile(
    rf"^(?P<a>{_RUNTIME})\s*(?:version\s*)?(?P<x>v?\d+(?:\.\d+){{0,2}})\s+is\s+(?:the|our)\s+(?:oldest|lowest|minimum)",
    r"(?:\s+version)?(?:\s+(?:that\s+)?we\s+(?:support|need|require|run on)|\s+(?:supported|required))?(?=\s*$|[.,;!])",
)
DROPPED_OPTION: Final = _compile(
    r"\b(?:drop(?:ped|s|ping)?|end(?:ed|s)?|remov(?:e|ed|es|ing))\s+(?:the\s+)?support\s+(?:for|of)\s+",
    rf"(?P<y>(?:{_RUNTIME})\s*v?(?:<=?\s*)?\d(?:[\w.]*\w)?)(?=\s*$|[\s.,;:!)(])",
)
SELF_DESCRIPTIONS: Final = (
    (_compile(r"^(?:my name is|call me)\s+(?P<x>\S.{0,40}?)(?=\s*$|[.,;!]|\s+(?:and|but|who)\b)"), "name"),
    (_compile(r"^i\s*(?:am|['’]m)\s+(?:a|an|the)\s+(?P<x>\S.{2,60}?)(?=\s*$|[.,;!]|\s+(?:and|but|who)\b)"), "role"),
    (_compile(r"^i work\s+(?:at|for)\s+(?P<x>\S.{1,40}?)(?=\s*$|[.,;!]|\s+(?:and|as|on)\b)"), "employer"),
    (
        _compile(
            r"^my (?P<k>time ?zone|pronouns|editor|shell|role|team|language|native language|operating system|os)\s+",
            r"(?:is|are)\s+(?P<x>\S.{0,60}?)(?=\s*$|[.;!](?:\s|$))",
        ),
        "",
    ),
)
KEY_VALUE: Final = _compile(
    r"^(?:(?:our|the|my)\s+)?(?P<k>[A-Za-z][\w/-]*(?: [\w/-]+){0,2})\s*(?::\s+|\s=\s)(?P<x>\S.{0,160}?)\s*$"
)
# Label before a note. It must not become the key, or the next decision would replace the last one.
LABEL: Final = _compile(
    r"^\W*(?:(?:a|an|the|our|my|design|architectur(?:e|al)|technical|team|project|important|final|new|quick|side|please)\s+){0,2}",
    r"(?:decisions?|decided|agreed|agreement|notes?|n\.?b\.?|rules?|reminder|remember|important|warning|caution|attention|careful|"
    r"hints?|tips?|fyi|btw|info|facts?|ideas?|conventions?|preferences?|constraints?|instructions?|polic(?:y|ies)|"
    r"requirements?|lessons?(?: learn(?:ed|t))?|learnings?|gotchas?|pitfalls?|insights?|context|background|updates?|"
    r"corrections?|problem|issue|bug|(?:root )?cause|fix|solution|workaround|summary|conclusion|goals?|plan|"
    r"next(?: steps?)?)\s*:\s+",
)
DEFINITION: Final = _compile(
    r"^(?:our|the)\s+(?P<k>[A-Za-z][\w/-]*(?: [\w/-]+){0,3}?)\s+(?:is|are)\s+(?P<x>\S.{0,100}?)",
    r"(?=\s*$|[.;!](?:\s|$)|,?\s+(?:because|since|not)\b)",
)
REASON: Final = _compile(
    r"(?:,\s*|\s+[-–—]\s*|\s+|\()(?:because|since(?=\s+(?:it|we|they|the|that|this)\b)|so that|",
    r"as (?=(?:it|we|they)\b)|due to|otherwise)\s+(?P<why>[^.;]{4,160}?)\)?(?=\s*$|[.;])",
)

# Sentences that state nothing: generated messages, doubts, quotations, tests of behaviour.
GENERATED_MESSAGE: Final = _compile(
    r"\s*(?:revert\b|merge\b|bump\b(?! (?:the )?min)|\[bot\]|(?:chore|build|fix)\(deps|update dependency|",
    r"\[pre-commit\.ci\]|automatic|auto-?generated|release\b|prepare)",
)
UNCERTAINTY: Final = _compile(
    r"\b(?:maybe|perhaps|might|could|would be|should we|shall we|can we|do we|what if|if we|if you|if i|whether|",
    r"consider|considering|propos\w+|suggest\w*|try(?:ing)? (?:to|out)|experiment\w*|todo|fixme|wip|for example|",
    r"e\.g\.|hopefully|wonder\w*|used to|not sure|i think we|let's see|tests? that|check that|accidentally|wrongly|",
    r"mistakenly|",
    r"error message|in case|some people|they say|would have|reverts?|instead of using it|any ?more|",
    r"(?<!, )(?<!, and )no longer)\b",
)
ABOUT_TEXT: Final = _compile(
    r"\b(?:changelog|changes\.|release notes?|comments?|typos?|wording|docstrings?|readme|spelling|example|docs? for)\b"
)
PRESCRIPTION: Final = _compile(
    r"^(?:(?:contributors|developers|maintainers|everyone|you)\s+(?:must|should|always|never)|",
    r"we\s+(?:must|should)\s+(?:always|never))\b",
)
SENTENCE_START: Final = _compile(r"^\W*(?:we\s+)?(?:now\s+|have\s+|should\s+|always\s+|also\s+)*$")
LOCAL_SCOPE: Final = _compile(r"\s*(?:in|for|when|on|at|inside|within|of|while|during)\b")
NEGATION: Final = _compile(r"(?:\bnot|\bnever|n['’]t|\bwithout|\bstop|\binstead of)\s+(?:\w+\s+)?$")

# Words that are too general to be a value: "use it instead of that".
HOLLOW_WORDS: Final = frozenset(
    """
    it that this them these those one ones other others something anything everything what which the a an same new old
    all any some both each more less ours mine yours his her here there now then first last instead list dict set tuple
    string str int integer bool boolean array object function method class variable value values code name names file
    files type types default defaults true false null none constant constants test tests version versions key keys
    """.split()  # noqa: SIM905 - one word after the other reads best
)
