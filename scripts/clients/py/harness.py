"""Cases and how they run: one after the other, each with the exchanges that it caused."""

import asyncio
import inspect
import signal
import time
import traceback
from dataclasses import dataclass
from typing import Any, Callable

from exchange import Exchange
from gateway import Gateway, failing
from provider import Provider
from tap import Tap
from wire import compare

CASE_LIMIT_SECONDS = 60
# One for all cases: some clients keep connections that belong to a loop.
LOOP = asyncio.new_event_loop()


@dataclass
class Case:
    """`wire`: whether both sides of the gateway are compared. A Claude model speaks another wire."""

    client: str
    feature: str
    title: str
    run: Callable[["World"], Any]
    wire: bool


CASES: list[Case] = []


def case(client: str, feature: str, *, wire: bool = True) -> Callable[[Callable], Callable]:
    """Registers a function as a case. Its docstring is the title."""

    def register(function: Callable[["World"], Any]) -> Callable:
        title = " ".join((function.__doc__ or function.__name__).split())
        CASES.append(Case(client, feature, title, function, wire))
        return function

    return register


class Unexpected(Exception):
    """Something came that should be otherwise."""


def expect(what: str, came: Any, should: Any) -> None:
    if came != should:
        raise Unexpected(f"{what}: came {came!r}, should be {should!r}")


def expect_in(what: str, part: Any, whole: Any) -> None:
    if part not in whole:
        raise Unexpected(f"{what}: {part!r} should be in {whole!r}")


def raised(kind: type[BaseException], call: Callable[[], Any]) -> Any:
    """The error of a call that has to fail in this way."""
    try:
        result = call()
        if inspect.isawaitable(result):
            result = LOOP.run_until_complete(result)
    except kind as error:
        return error
    except Exception as error:
        raise Unexpected(f"error: came {type(error).__name__}: {error}, should be {kind.__name__}") from error
    raise Unexpected(f"error: came {result!r}, should be {kind.__name__}")


class World:
    """What a case works with: the gateway's address through the tap, keys, and what was recorded."""

    def __init__(self, gateway: Gateway, tap: Tap, provider: Provider) -> None:
        self.gateway, self.tap, self.provider = gateway, tap, provider
        self.origin = tap.url
        self.url = f"{tap.url}/v1"
        self.key = gateway.key()
        self.at = (0, 0)
        self.client = ""

    def begin(self, one: Case) -> None:
        self.client = one.client
        self.at = (len(self.tap.exchanges), len(self.provider.exchanges))

    def failing(self, name: str) -> str:
        """The model that fails in this way, for this case's client."""
        return failing(name, self.client)

    @property
    def sent(self) -> list[Exchange]:
        """The exchanges of this case between the client and the gateway."""
        return self.tap.exchanges[self.at[0] :]

    @property
    def received(self) -> list[Exchange]:
        """The exchanges of this case between the gateway and the provider."""
        return self.provider.exchanges[self.at[1] :]

    @property
    def asked(self) -> dict[str, Any]:
        """The body of the last request that reached the provider."""
        if not self.received:
            raise Unexpected("the provider received nothing")
        return self.received[-1].request

    def settle(self, seconds: float = 5.0) -> None:
        """Waits until every recorded exchange is over."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit and not all(one.finished for one in [*self.sent, *self.received]):
            time.sleep(0.01)


def run_case(one: Case, world: World) -> list[str]:
    """Lines about what is wrong; empty for a case that passed."""
    world.begin(one)
    faults: list[str] = []
    signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(CASE_LIMIT_SECONDS)
    try:
        result = one.run(world)
        if inspect.isawaitable(result):
            LOOP.run_until_complete(result)
    except Unexpected as error:
        faults.append(str(error))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        faults.append(f"{type(error).__name__}: {error} ({last.filename.rpartition('/')[2]}:{last.lineno})")
    finally:
        signal.alarm(0)
    world.settle()
    if one.wire:
        faults += dict.fromkeys(compare(world.sent, world.received))
    if faults:
        faults += [line for exchange in world.sent[-2:] for line in exchange.brief().splitlines()]
    return faults


def on_alarm(*_: object) -> None:
    raise Unexpected(f"no end within {CASE_LIMIT_SECONDS} s")
