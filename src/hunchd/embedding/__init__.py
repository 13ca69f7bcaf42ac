"""Text embedding on this machine, without a network.

Without precautions, the libraries used would report on their users: onnxruntime 1.29 and later sends session and model
events to its maker and keeps a device id below `~/.cache`, unless a variable is set before the library is loaded, and
huggingface_hub adds usage data to downloads. Every module that loads them is therefore imported through this package,
which sets the variables.
"""

import os
from typing import Final

TELEMETRY_OPT_OUTS: Final = {"ORT_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}

os.environ.update(TELEMETRY_OPT_OUTS)
