"""SHA-256 digests of the models in this version.

Stored results of a different model are computed again.
"""

from __future__ import annotations

from typing import Final

MODEL_DIGEST: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"  # model in the package
STATEMENTS_DIGEST: Final = "20fce6c804d2a378faaec9b15a1c13f202b65aac76620d7a165d725341f03f1e"
ENTAILMENT_DIGEST: Final = "cb48707006393d1785a68a0c5c932beca4a0522714c1c49f89f238b5d58fe04e"
