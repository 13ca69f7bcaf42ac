"""Run the benchmarks without the command line client: `python -m hunchd.bench replay …`."""

from __future__ import annotations

import argparse
import sys

from hunchd.bench import bundle, code, latency, recall, replay


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m hunchd.bench", description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True)
    modules = {"replay": replay, "recall": recall, "latency": latency, "bundle": bundle, "code": code}
    for name, module in modules.items():
        kind = kinds.add_parser(name, help=(module.__doc__ or "").strip().splitlines()[0])
        module.add_arguments(kind)
        kind.set_defaults(run=module.run)
    options = parser.parse_args(arguments)
    return int(options.run(options))


if __name__ == "__main__":
    sys.exit(main())
