"""openai: reasoning, out under both names and back in the provider's own."""

import answers
from cases.openai_chat import HELLO, ask
from cases.openai_tools import WEATHER, results
from harness import World, case, expect

MODEL = "deepseek/deepseek-reasoner"
CLAUDE = "anthropic/claude-sonnet-4-5"


def thoughts(part) -> tuple:
    extra = part.model_extra or {}
    return extra.get("reasoning_content"), extra.get("reasoning")


@case("openai", "reasoning")
def brings_thoughts(world: World) -> None:
    """brings reasoning as reasoning_content and reasoning"""
    reply = ask(world, MODEL)
    expect("thoughts", thoughts(reply.choices[0].message), (answers.THOUGHT, answers.THOUGHT))
    expect("reasoning tokens", reply.usage.completion_tokens_details.reasoning_tokens, 5)


@case("openai", "reasoning")
def streams_thoughts(world: World) -> None:
    """streams reasoning as reasoning_content and reasoning"""
    parts = [thoughts(chunk.choices[0].delta) for chunk in ask(world, MODEL, stream=True)]
    texts = tuple("".join(part[name] or "" for part in parts) for name in (0, 1))
    expect("thoughts", texts, (answers.THOUGHT, answers.THOUGHT))


def loop(world: World, keep) -> None:
    message = ask(world, MODEL, tools=[WEATHER]).choices[0].message
    turns = [*HELLO, keep(message), *results(message.tool_calls)]
    last = ask(world, MODEL, turns, tools=[WEATHER])
    expect("text", last.choices[0].message.content, answers.AFTER_TOOLS)
    expect("thoughts sent back", world.asked["messages"][1].get("reasoning_content"), answers.THOUGHT)


@case("openai", "reasoning")
def loops_with_message(world: World) -> None:
    """continues a reasoning model's tool loop with the message as it came"""
    loop(world, lambda message: message)


@case("openai", "reasoning")
def loops_with_dump(world: World) -> None:
    """continues a reasoning model's tool loop with message.model_dump()"""
    loop(world, lambda message: message.model_dump(exclude_none=True))


@case("openai", "reasoning")
def loops_with_reasoning_alone(world: World) -> None:
    """continues a reasoning model's tool loop with the member reasoning alone"""

    def keep(message) -> dict:
        turn = message.model_dump(exclude_none=True)
        rest = {name: value for name, value in turn.items() if name not in ("reasoning_content", "reasoning_details")}
        return {**rest, "reasoning": answers.THOUGHT}

    loop(world, keep)


@case("openai", "reasoning", wire=False)
def thinks_with_claude(world: World) -> None:
    """lets a Claude model think, and gives its signed thoughts back in a tool loop"""
    members = {"reasoning_effort": "low", "max_completion_tokens": 4000, "tools": [WEATHER]}
    message = ask(world, CLAUDE, **members).choices[0].message
    expect("thoughts", thoughts(message), (answers.THOUGHT, answers.THOUGHT))
    ask(world, CLAUDE, [*HELLO, message, *results(message.tool_calls)], **members)
    turn = next(one for one in world.asked["messages"] if one["role"] == "assistant")
    kinds = [block["type"] for block in turn["content"]]
    expect("blocks sent back", kinds, ["thinking", "tool_use"])
    expect("thinking stays on", (world.asked.get("thinking") or {}).get("type") in ("enabled", "adaptive"), True)


@case("openai", "reasoning", wire=False)
def streams_thoughts_of_claude(world: World) -> None:
    """streams a Claude model's thoughts, asked for as OpenRouter's clients do"""
    members = {"extra_body": {"reasoning": {"effort": "low"}}, "max_completion_tokens": 4000, "stream": True}
    parts = [thoughts(chunk.choices[0].delta) for chunk in ask(world, CLAUDE, **members)]
    texts = tuple("".join(part[name] or "" for part in parts) for name in (0, 1))
    expect("thoughts", texts, (answers.THOUGHT, answers.THOUGHT))
