"""Text embedding on this machine, without a network.

By default, the libraries used send telemetry: onnxruntime 1.29 and later sends session and model events to its vendor
and keeps a device id under `~/.cache`, and huggingface_hub adds usage data to downloads. Environment variables disable
this, but they must be set before the libraries are loaded. This package sets them, so every module that loads these
libraries is imported through it.
"""

import os
from typing import Final

TELEMETRY_OPT_OUTS: Final = {"ORT_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}

os.environ.update(TELEMETRY_OPT_OUTS)
