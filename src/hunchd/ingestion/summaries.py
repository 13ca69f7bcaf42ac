"""Detection of lines in which a tool counts, announces or sums up its findings.

Examples are "Found 1 error", "make: *** … Error 1" and "BUILD FAILED in 4s". Such a line consists only of words
from the vocabulary in which tools report progress. This module does no I/O.
"""

from __future__ import annotations

import re
from typing import Final

_STOCK: Final = frozenset(
    """
    a about above action actions affecting after again all alone an analysis and any applied are at be because been
    before below block bug build builder building built by cached can case cases check checked checking checks clean
    code column command commands compilation compile compiled compiler compiling complete completed completing
    configuration configure could count create detail details detected diagnostics did done due duration during elapsed
    emitted end ended err error errors example examples exception exceptions exec execution exit exited exiting
    expectation expectations fail failed failing failure failures fatal file files finished fix fixable fixed fixes for
    format formatted found from full further generated get given got had has have help here hint ignored in info
    inspected installed installing is issue issues it job jobs js kb left line lines lint linted linting log logs make
    many mb memory message messages min mode module modules more ms multiple need new no non not note number occurred
    of offense offenses ok on one only option options or other out output over pass passed passes passing pending
    percent phase possible potentially previous problem problems process processed processing progress project projects
    published rebuild recipe reformatted refused report reported rerun result results return returned returning run
    runner running s sec seconds see seed session show showing skipped some stage stages started starting stat status
    step steps stop stopped stopping style succeeded success successful successfully suite suites summary suppressed
    target targets task tasks test tests than that the their there these this three time times to total trace try two
    unchanged unit up use using via violation violations warning warnings was watching were where while with without
    worker workers would x your zero
    """.split()  # noqa: SIM905 - one word after the other reads best
)
# Names are ignored: they say what is affected, but not what is wrong with it.
_NAMED_THING = re.compile(
    r"`[^`\n]*`|'[^'\n]*'|\"[^\"\n]*\"|“[^”\n]*”|\([^()\n]*\)|\[[^\]\n]*\]"
    r"|(?:[A-Za-z]:)?[\w.@+~-]*[/\\][\w.@/\\+-]+|\b[\w-]+\.\w{1,5}\b"
    r"|--?[\w-]+=?|\b\w+(?:_\w+)+\b|\bE?LIFECYCLE\b|https?://\S+|:\w+(?::\w+)*"
)
_WORD = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"[a-z][A-Z]")
_ADVICE = re.compile(
    r"^\W*(?:for (?:more|full|further)|run with|re-?run|try (?:running|using|adding)|see (?:https?:|the|also)"
    r"|get more help|learn more|more (?:info|details)|read more|this error originated|use `?--|documentation:"
    r"|to (?:see|ignore|learn|fix|suppress|disable|get|run|debug|rerun|skip|install|update)\b"
    r"|if you (?:believe|think|want|would)|please (?:report|open|file|see|run)|note: (?:this|the lint|`?#|run with|use)"
    r"|(?:= )?(?:note|help): `?(?:#|-D|for more|to override|for further)|(?:npm (?:err!|error) )?a complete log"
    r"|did you mean to run|full report at|randomized with seed|or to contribute)",
    re.IGNORECASE,
)
_MEASUREMENT = re.compile(
    r"^\W*(?:time|memory|duration|elapsed(?: time)?|finished in|ran|took|done in|started|completed)\b.*\d",
    re.IGNORECASE,
)


def is_summary(line: str) -> bool:
    """Return True if `line` does not say what exactly is wrong.

    Such a line says only that something failed, how many things failed, or what to do about it.
    """
    if _ADVICE.match(line) or (_MEASUREMENT.match(line) and len(line) < 120):
        return True
    words = _WORD.findall(_NAMED_THING.sub(" ", line))
    return all(word.lower() in _STOCK and not _CAMEL.search(word) for word in words)
