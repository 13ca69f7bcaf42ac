"""SHA-256 digests of the models in this version.

Stored results of a different model are computed again.
"""

from __future__ import annotations

from typing import Final

MODEL_DIGEST: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"  # model in the package
STATEMENTS_DIGEST: Final = "13dc906673df2aeb625d1ed6b5715f146f7badc5da5e2b614a5c977f5b454c79"
ENTAILMENT_DIGEST: Final = "448a50a475c7755787d16618fe4ba6a37a99b275b0c77db4b4278be506ce8ad1"
