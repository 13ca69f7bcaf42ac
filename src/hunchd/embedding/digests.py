"""Which models this version was made with, by SHA-256: what another one has said is asked anew."""

from __future__ import annotations

from typing import Final

MODEL: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"  # of the installed package
ENTAILMENT: Final = "b570babe139057b3550b0f554dda1f801869e95f41126f3f0cd56327952d156e"
