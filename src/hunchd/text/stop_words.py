"""Stop words: one core, and what each use adds to it.

The uses differ in what carries no meaning there, so one list for all would lose something: "use" is empty in a
question, "fix" in the title of a commit, and "off" decides in a rule.
"""

from __future__ import annotations

from typing import Final

# Articles, prepositions, auxiliaries: empty in every text, code included.
_CORE: Final = frozenset(
    """
    a all an and are as at be by can do does for from has have if in into is it its no not of on or so than that the
    their them then there these this to up was we when which will with you your
    """.split()  # noqa: SIM905 - a list of words is read as words
)
# Further function words of English prose.
_ENGLISH: Final = _CORE | frozenset(
    """
    about am any been being both but did doing each had having he her here his how i itself just me my our ours out
    over own same she should some such they those too very were what where while who whom yours
    """.split()  # noqa: SIM905 - a list of words is read as words
)
# With the halves of contractions: "didn't" is read as "didn" and "t".
_CONTRACTED: Final = _ENGLISH | frozenset(
    """
    after ain aren because before couldn didn doesn don during hasn haven hers herself him himself isn ll myself re
    shouldn theirs themselves until ve wasn why won wouldn yourself
    """.split()  # noqa: SIM905 - a list of words is read as words
)
# Full-text index: the list of the Natural Language Toolkit.
INDEX_STOP_WORDS: Final = _CONTRACTED | frozenset(
    """
    above again against below between d down few further hadn m ma mightn more most mustn needn nor now o off once
    only other ourselves s shan t through under weren y yourselves
    """.split()  # noqa: SIM905 - a list of words is read as words
)
# Questions to the search: also what people say to ask.
QUESTION_STOP_WORDS: Final = _CONTRACTED | frozenset(
    """
    also always could either ever every get got know let like may might must neither one per please say shall show
    tell upon us use used using via whose would yet
    """.split()  # noqa: SIM905 - a list of words is read as words
)
# Rules and decisions, when two are compared: also adverbs and hedges, but no word that may be the difference.
STATEMENT_STOP_WORDS: Final = _ENGLISH | frozenset(
    """
    above across actually again agreed already also always another approximately around avoid below ca cannot circa
    could currently decided decision done e.g earlier entire entirely etc even ever every everywhere exactly feel
    free generally get gets got higher i.e later least let lets lower made make makes many may might more most much
    must namely neither never newer none nor normally note now older only onto onward onwards other others per
    please really roughly shall simply still through throughout today typically under upward upwards us usually via
    want wants whole whose within without would
    """.split()  # noqa: SIM905 - a list of words is read as words
)
# Commit titles and identifiers: also the verbs of every commit, and keywords.
CODE_STOP_WORDS: Final = _CORE | frozenset(
    """
    add added adds allow change changed changes chore cls const def false feat fix fixed fixes fn improve let make
    makes more mut none now only per pub refactor remove removed removes return self support true update updated
    updates use var via would
    """.split()  # noqa: SIM905 - a list of words is read as words
)
# Topics of a session, words of three letters or more: also what is said in every session with an agent.
SESSION_STOP_WORDS: Final = _CORE | frozenset(
    """
    about add after also any back been but code could did done file files fix get got had here how just let like
    line make may more must need new now off one only other our out over please run see should some still such sure
    take test tests they those too two use used using want way well were what where while work would yes
    """.split()  # noqa: SIM905 - a list of words is read as words
)
# Paths, branches and facts, words of four letters or more: also names that every project has.
PATH_STOP_WORDS: Final = frozenset(
    """
    because been code core docs does file files from have index init instead into main master more must not only
    should test tests than that their them there they this utils were what when where which will with would
    """.split()  # noqa: SIM905 - a list of words is read as words
)
