"""Regular expressions of the statement parser: clauses, denials, times, qualifiers."""

from __future__ import annotations

import re
from typing import Final

from hunchd.consolidation.contradictions.lexicon import NUMBER_WORDS, PHRASE_SYNONYMS

MARKUP: Final = re.compile(r"[`*]|(?<!\w)_+|_+(?!\w)|^\s*(?:[-#>•]+|\d+[.)])\s+|\[([^\]]*)\]\([^)]*\)", re.MULTILINE)
REASON: Final = re.compile(
    r"(?:,\s*|\s+[-–—]+\s*|\s+\(?|\()(?:because|since(?=\s+(?:it|we|they|the|that|this|our|nobody|some|a|"
    r"an)\b)|so that|"
    r"as (?=(?:it|we|they|the)\b)|due to|otherwise|in order to|to avoid|which (?:is|was|makes|means)|"
    r"that is why|so (?=\w+ing\b))\b.*$",
    re.IGNORECASE,
)
CLAUSES: Final = re.compile(
    r"\s+[-–—]{1,2}\s+|,?\s+but\s+|,\s+(?:and\s+|so\s+)?(?=(?:not|never|no|we|it|they|"
    r"there|a job|ci|don't|do not|the)\b)|\s+and\s+(?=(?:not|never|no|must|should|don't|do not|has to|have to|"
    r"is|are|does|"
    r"can(?:not|'t)?)\b)",
    re.IGNORECASE,
)
PREFIX: Final = re.compile(
    r"^\s*(?:(?:architecture |design )?(?:decision|adr|note|rule|convention|policy|reminder|fyi|update|"
    r"tip)s?(?: [\w.-]+)?\s*:\s+|"
    r"(?:feat|fix|docs?|chore|build|ci|refactor|test|style|perf)(?:\([^)]*\))?!?:\s+|"
    r"(?:please|note that|remember(?: that| to)?|make sure(?: that| to)?|be sure to|(?:we|they|"
    r"the team) (?:have )?(?:decided|agreed)(?: that| to)?|"
    r"as of (?:today|now),?|from now on,?|going forward,?|in general,?|by the way,?|in this (?:project|repo|"
    r"repository|codebase),?)\s+)+",
    re.IGNORECASE,
)
WORD: Final = re.compile(r"[A-Za-z_@%~][\w@./+#%:~-]*[\w+#/]|[A-Za-z%]|\d+[A-Za-z]\w*")
PHRASE: Final = re.compile(r"(?<![\w-])(?=([A-Za-z0-9]+)[ -]([A-Za-z]+)(?![\w-]))")
FILE: Final = re.compile(
    r"(?:[\w@.-]+/)*[\w@.-]*\.(?:toml|json|ya?ml|cfg|ini|txt|in|py|lock|gradle|xml|md|mod|rs|ts|js|kts|env|conf)$"
)
DENIAL: Final = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|avoid(?:s|ed)?|stop(?:ped)?(?= \w+ing)|"
    r"lack(?:s|ed)?|"
    r"refrain|instead of|unable|fail(?:s|ed)? to|ended(?= support)|(?<=support )[^.;]{0,50}?\b(?:ended|gone)|"
    r"no longer|rarely|hardly|free of|(?<=keep )[^.;]{0,40}?\bout of)\b",
    re.IGNORECASE,
)
NOT_A_DENIAL: Final = re.compile(
    r"\b(?:not only|no (?:more|less|fewer|later|earlier) than|not (?:more|less) than|nothing (?:but|else)|"
    r"no matter|not (?:un\w+))\b",
    re.I,
)
ALTERNATIVE: Final = re.compile(
    r",?\s*\b(?:instead of|rather than|in place of|as opposed to|(?<=\w )over(?= \w+(?: \w+)?(?:\s+(?:in|for|"
    r"on)\b|[.,;]|$))|in favou?r of)\s+",
    re.IGNORECASE,
)
CHANGED_VALUE: Final = re.compile(
    r"\b(?:switch(?:ed)?|mov(?:e|ed)|migrat(?:e|ed)|chang(?:e|ed)|upgrad(?:e|ed)|convert(?:ed)?|replac(?:e|"
    r"ed)|went)\s+(?:\w+\s+){0,3}?"
    r"from\s+(?P<old>[^,;]+?)\s+to\s+(?P<new>[^,;]+)",
    re.IGNORECASE,
)
REPLACED_VALUE: Final = re.compile(
    r"\breplac(?:e|ed|ing)\s+(?P<old>[^,;]+?)\s+(?:with|by)\s+(?P<new>[^,;]+)", re.IGNORECASE
)
PAST: Final = re.compile(
    r"\b(?:used to|until|till|formerly|previously|originally|in the past|back (?:when|then|in)|before (?:the|"
    r"we|v?\d|version|20\d\d|19\d\d)|"
    r"prior to|(?<!\d )through (?:version )?v?\d|up to v?\d+\.[\dx]|up to \d+\.x|"
    r"up to (?:and including )?(?:version \d|v\d)|earlier (?:releases?|versions?)|old(?:er)? (?:releases?|"
    r"versions?)|at first|initially|once (?:was|were|had|used)|"
    r"at the time|years? ago|months? ago|last (?:year|quarter|month|week|sprint|spring|summer|autumn|fall|"
    r"winter)|historically|"
    r"in (?:19|20)\d\d|(?:was|were|had) [^.;]{0,60}\b(?:19|20)\d\d|during the (?:19|20)\d\d|the (?:19|20)\d\d)\b",
    re.IGNORECASE,
)
FUTURE: Final = re.compile(
    r"\b(?:next (?:year|quarter|month|week|sprint|release|major|version)|(?:we |it )?(?:will|"
    r"'ll) (?:eventually |soon |then |be )?"
    r"(?:mov|switch|migrat|replac|drop|remov|adopt|becom|introduc|rewrit|rewritten|start|get)\w*|plan(?:s|ned|"
    r"ning)? to|going to|"
    r"someday|eventually|in the future|roadmap|proposal|proposed|considering|might|once (?:we|the|v?\d)|"
    r"as soon as|would like to|to be (?:done|decided))\b",
    re.IGNORECASE,
)
YEARS: Final = re.compile(
    r"\b(?:in|since|until|till|during|from|by|before|after|early|late|mid|the|spring|summer|autumn|fall|"
    r"winter|q[1-4])[ -]"
    r"((?:19|20)\d\d)\b(?!\.\d)",
    re.IGNORECASE,
)
VERSION_AS_TIME: Final = re.compile(r"(?:^|\bin |\bwith |\bsince )(?:(?:version|release) |v)(\d[\w.]*)", re.IGNORECASE)
# After these, a word that may also be a tool means the tool.
OBJECT: Final = re.compile(r"\b(?:uses?|using|with|by|prefers?|through|via|called|is|are|to|[:=])\s*$", re.IGNORECASE)
WAS: Final = re.compile(
    r"\b(?:was|were|had|did|ran|came|supported|required|needed|used|shipped|allowed|stored|kept|sent|wrote|returned|accepted|lacked|offered)\b",
    re.IGNORECASE,
)
PAIR: Final = re.compile(r"^[\w./ -]{2,60}?\s*[:=]\s*\S")
LINK: Final = re.compile(r"\w (by|with|in|as|from|on|at|to|after|through|via|into|under) (?=\w)")
NOW: Final = re.compile(r"\b(?:now|today|nowadays|currently|these days|since)\b", re.IGNORECASE)
QUALIFIER: Final = re.compile(
    r"\b(?:in|on|for|within|inside|during|under|of|from|at|by|to|when|while|outside)\s+(?:the |a |an |our |"
    r"all |any )?([\w./-]+(?: [\w./-]+)?)",
    re.I,
)
PHRASE_WORDS: Final = re.compile(
    "|".join(rf"(?<![\w-]){one}\b" for one in sorted(PHRASE_SYNONYMS, key=len, reverse=True)), re.IGNORECASE
)
ADDITION: Final = re.compile(r"\b(?:also|too|as well|additionally|in addition|another|one of|among)\b", re.IGNORECASE)
OPEN: Final = re.compile(
    r"\b(?:support(?:s|ed)?|can(?: be)?|may(?! be at)|possible|available|works? (?:with|on)|compatible|"
    r"test(?:s|ed)? (?:on|with|in|against)|includes?|contains?|"
    r"has (?:an?|the)|provides?|offers?|accepts?|tagged|allow(?:s|ed)?|runs? the|there (?:is|are)|known to)\b",
    re.IGNORECASE,
)
MODAL: Final = re.compile(
    r"\b(?:must|always|never|have to|has to|should|shall|required?|mandatory|only|every|all)\b", re.I
)
VERB: Final = re.compile(
    r"\s(?:is|are|was|were|be|does|did|do|cannot|can|may|must|should|shall|will|has|have|had|uses|used|runs|"
    r"goes|lives?|needs|requires|depends?|"
    r"keeps|stores|supports|handles|sends|returns|writes|reads|pins|says|takes|works|expires?|binds|listens?|"
    r"never|always|sorts|"
    r"maintains|owns|gives|throws|raises|survives?|allows|accepts|rejects|contains|includes|provides|holds|"
    r"enables|disables|compiles|"
    r"defaults to|belongs|comes?|publishes|deploys|renders|serves|validates|ignores|skips|waits|retries|fails|"
    r"happens?|speaks|sits?|receives|picks|chooses|selects|fetches|creates|deletes|removes|adds|opens|closes|"
    r"hides|displays|emits|publishes|consumes|produces|parses|verifies|ensures|generates|encrypts|signs|"
    r"follows|carries|asks|gets|grows|expects|assumes|treats?|respects|phones|extends?|inherits?|wraps?|"
    r"scans|applies|not)\b|(?<=[\w)\]])\s*[:=]\s*(?=\S)",
    re.IGNORECASE,
)
# Verbs that are as often nouns: used only if no other verb is found.
PERHAPS_VERB: Final = re.compile(
    r"\s(?:use|run|go|need|require|keep|store|support|handle|send|return|write|read|sets?|lists?|work|starts?|"
    r"binds?|sort|checks?|maintain|own|give|get|"
    r"throw|raise|logs?|allow|accept|contain|include|provide|hold|targets?|belong|deploy|builds?|render|serve|"
    r"caches?|validate|"
    r"ignore|skip|wait|fail|live|respect|merges?|loads?|retries|uploads?|downloads?|updates?|blocks?|starts|stops?|"
    r"ends?|begin|shows?|calls?|triggers?|publish|polls?|push|pushes|pulls?|imports?|exports?|parses?|formats?|lints?|"
    r"compiles?|bundles?|ships?|wins?|shares?|follow|carry|prints?|prompts?|falls?|keep|match|matches|maps?|expect|"
    r"assume|locks?|spills?|pick|choose|select|fetch|create|remove|add|open|close|hide|emit|verify|ensure)\b",
    re.IGNORECASE,
)
IMPERATIVE: Final = re.compile(
    r"^(?:(?:always|never|only|do not|don't|avoid|no|prefer|use|run|keep|put|write|add|make|do|set|mock|"
    r"feel free|indent|install|squash|"
    r"rebase|commit|log|store|retry|name|test|deploy|merge|edit|fix|bump|sign|delete|cache|call|create|follow|"
    r"import|wrap|check|document|return|throw|"
    r"raise|validate|pin|format|sort|limit|send|read|ship|tag|release|review|update|open|close|start|stop|"
    r"build|we|i|you|everyone|there)\b)",
    re.IGNORECASE,
)
TEMPLATE: Final = re.compile(
    r"\b(?:depends on|pins)\b.*\d|^[\w.-]+ requires \S+ [<>=~^!]*\d|\brequirements?\b.*\d|\bpinned (?:at|to) |"
    r"^\S+ sets \S+ to |^in \S+ of \S+, |^\S+ for \S+ \(|^[\w.-]+ ?= ?\S+$",
    re.IGNORECASE,
)
ONLY: Final = re.compile(r"\b(?:only|solely|exclusively|nothing but)\b", re.IGNORECASE)
ONLY_COMPOUND: Final = re.compile(r"\b(?!read|append|write)([A-Za-z]+)-only\b", re.IGNORECASE)
ALL: Final = re.compile(r"\b(?:all|every|any|always|each|everybody|everything|everyone)\b", re.IGNORECASE)
# Frequencies: "hourly", "once a day", "each night"; parsed as a quantity of time.
PERIODS: Final = {"hourly": "1 hour", "daily": "1 day", "nightly": "1 day", "weekly": "1 week", "monthly": "1 month"}
FREQUENCY: Final = re.compile(
    r"\b(?<!a )(?<!the )(hourly|daily|nightly|weekly|monthly)\b"
    r"(?=\s*(?:[.,;)]|$)|\s+(?:in|at|on|by|from|and|to|for|with)\b)",
    re.IGNORECASE,
)
EVERY: Final = re.compile(
    r"\b(?:every|each|once (?:an?|per|every)|(twice) (?:an?|per|every)) "
    r"(second|minute|hour|day|night|week|month|year)\b(?! of)",
    re.IGNORECASE,
)
HALF: Final = re.compile(r"\bhalf an? (second|minute|hour|day|year)\b", re.IGNORECASE)
# "five hundred", "two thousand"
HUNDREDS: Final = re.compile(rf"\b(an? |{' |'.join(NUMBER_WORDS)} )(hundred|thousand|million)\b", re.IGNORECASE)
MULTIPLIERS: Final = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
ONE_UNIT: Final = re.compile(
    r"\b(after|within|for|in|takes?) an? (second|minute|hour|day|week|month|year)\b", re.IGNORECASE
)
# A leading condition: when or where the statement holds.
CONDITION: Final = re.compile(
    r"^((?:when|whenever|if|on|once|after|before|during|while|for|in|with|under|at|inside|within)"
    r" [^,]{2,60}),\s+(?!and\b|or\b)(.+)$",
    re.IGNORECASE | re.DOTALL,
)
# A noun that may also be a verb, with its predicate: "release notes are written by hand".
NOUN_FIRST: Final = re.compile(
    r"^(?!(?:always|never|only|do|don't|avoid|no|prefer|feel|make|we|i|you|everyone|there)\b)[A-Za-z]+(?:\s+[\w-]+){0,3}?\s+"
    r"(?:is|are|was|were|has|have|must|should|can|cannot|may|will|does|lives?|expires?|needs?|goes|go|runs?|uses?|takes?)\b",
    re.IGNORECASE,
)
