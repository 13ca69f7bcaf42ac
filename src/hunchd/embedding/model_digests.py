"""SHA-256 digests of the models with which this version was built.

Stored results of a different model are computed again.
"""

from __future__ import annotations

from typing import Final

MODEL_DIGEST: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"  # model in the package
STATEMENTS_DIGEST: Final = "f2a067f8adce7aa3300b14e31dda0f3bf4f34962ecbc619c0261113dc721ae11"
ENTAILMENT_DIGEST: Final = "448a50a475c7755787d16618fe4ba6a37a99b275b0c77db4b4278be506ce8ad1"
