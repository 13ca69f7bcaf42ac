"""`hunch bench`: measures the quality of predictions and search.

The benchmark modules are slow to import, so they are imported only when this command runs.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from hunchd.protocol.thread_limits import limit_to_one_thread


def add_arguments(parser: ArgumentParser) -> None:
    with limit_to_one_thread():  # as the daemon does
        from hunchd.bench import bundle, code, latency, recall, replay

    kinds = parser.add_subparsers(title="benchmarks", required=True, metavar="BENCHMARK")
    modules = {"replay": replay, "recall": recall, "latency": latency, "bundle": bundle, "code": code}
    for name, module in modules.items():
        summary = (module.__doc__ or "").strip().splitlines()[0]
        kind = kinds.add_parser(name, help=summary, description=summary)
        module.add_arguments(kind)
        kind.set_defaults(benchmark=module.run)


def run(arguments: Namespace) -> int:
    return int(arguments.benchmark(arguments))
