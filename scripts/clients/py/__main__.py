"""Runs Python's clients against a gateway: `scripts/clients/python [--only openai,langchain] [--keep]`."""

import argparse
import importlib
import logging
import os
import pkgutil
import shutil
import signal
import sys
import tempfile
import warnings
from pathlib import Path

import environment

environment.prepare()

import cases  # noqa: E402
import results  # noqa: E402
from gateway import Gateway  # noqa: E402
from harness import CASES, World, run_case  # noqa: E402
from provider import Provider  # noqa: E402
from tap import Tap  # noqa: E402


NAMES = [*results.CLIENTS, results.GENERATED]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/clients/python", description=__doc__)
    parser.add_argument("--only", help="clients, with commas between them: " + ", ".join(NAMES))
    parser.add_argument("--match", help="only cases with this text in their title")
    parser.add_argument("--keep", action="store_true", help="keep the gateway's directory with its log")
    return parser.parse_args()


def load(clients: list[str]) -> None:
    """Imports the cases of these clients. A client's modules begin with its name."""
    for module in pkgutil.iter_modules(cases.__path__):
        if module.name.partition("_")[0] in clients:
            importlib.import_module(f"cases.{module.name}")


def main() -> int:
    asked = arguments()
    clients = asked.only.split(",") if asked.only else NAMES
    unknown = [name for name in clients if name not in NAMES]
    if unknown:
        raise SystemExit(f"--only knows {', '.join(NAMES)}; it does not know {', '.join(unknown)}")
    # A signal ends the run as Ctrl-C does: the gateway is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    load(clients)
    chosen = [one for one in CASES if one.client in clients and (asked.match or "") in one.title]
    directory = Path(tempfile.mkdtemp(prefix="tollgate-clients-"))
    provider = Provider()
    gateway = None
    try:
        gateway = Gateway(directory, provider.url, clients)
        world = World(gateway, Tap(gateway.port), provider)
        outcome = [(one, run_and_tell(one, world)) for one in chosen]
    finally:
        if gateway is not None:
            gateway.stop()
        if asked.keep:
            print(f"kept: {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)
    if asked.only is None and asked.match is None:
        results.write(outcome)
    failed = sum(not passed for _, passed in outcome)
    print(f"{len(outcome) - failed} passed, {failed} failed")
    return 1 if failed or not outcome else 0


def run_and_tell(one, world: World) -> bool:
    faults = run_case(one, world)
    if faults:
        print(f"FAILED {one.client}, {one.feature}: {one.title}")
        for line in faults:
            print(f"    {line}")
    sys.stdout.flush()
    return not faults


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # Some libraries leave threads behind that never end.
    os._exit(status)
