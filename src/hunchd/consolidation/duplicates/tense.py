"""Regular expressions that recognise statements about the past and about the future."""

from __future__ import annotations

import re
from typing import Final

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
