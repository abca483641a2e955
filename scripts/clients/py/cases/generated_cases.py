"""The client that openapi-python-client generates of openapi.json: it imports, mypy accepts a program of it, and that works."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import results
from gateway import ROOT
from harness import Unexpected, World, case, expect

PROGRAM = Path(__file__).resolve().parents[1] / "generated_program.py"


def run(directory: Path, *command: str) -> str:
    """What a command of this Python prints. It finds the generated package in the directory."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=directory, capture_output=True, text=True)
    if done.returncode != 0:
        raise Unexpected(f"{command[0]}: {done.stdout[-2000:]} {done.stderr[-2000:]}")
    return done.stdout + done.stderr


@case(results.GENERATED, "client", wire=False)
def compiles_and_works(world: World) -> None:
    """a generated client compiles and works without casts: keys, chat whole and streamed, errors, lists"""
    directory = Path(tempfile.mkdtemp(prefix="tollgate-generated-"))
    try:
        document, package = str(ROOT / "openapi.json"), str(directory / "tollgate_api")
        command = ("generate", "--path", document, "--output-path", package, "--meta", "none")
        told = run(directory, "openapi_python_client", *command)
        skipped = [line for line in told.splitlines() if "WARNING" in line or "ERROR" in line]
        expect("parts of the document that the generator skips", skipped, [])
        shutil.copy(PROGRAM, directory / "program.py")
        run(directory, "mypy", "--strict", "--follow-imports=silent", "program.py")
        read = json.loads(run(directory, "program", world.origin, "openai/gpt-4o", world.gateway.admin_key))
        expect("text", read.pop("text"), read.pop("said"))
        expect(
            "what the program read",
            read,
            {
                "name": "renamed",
                "budget": 5,
                "listed": True,
                "place": ["body", "temperature"],
                "generations": 2,
                "statuses": [200, 200],
                "revoked": "revoked",
            },
        )
    finally:
        shutil.rmtree(directory, ignore_errors=True)
