"""openai: tools, and structured output."""

import json

import answers
from cases.openai_chat import HELLO, ask, client
from harness import World, case, expect
from openai import pydantic_function_tool
from pydantic import BaseModel

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tells the weather of a place.",
        "parameters": {
            "type": "object",
            "properties": {"place": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}},
            "required": ["place"],
        },
    },
}
ARGUMENTS = {"place": "Ada Lovelace", "days": [1815]}
BOTH = [{"role": "user", "content": "The weather in both places?"}]


class Person(BaseModel):
    name: str
    born: int


ADA = Person(name="Ada Lovelace", born=1815)


def results(calls) -> list[dict]:
    return [{"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in calls]


@case("openai", "tools")
def runs_a_loop(world: World) -> None:
    """calls a tool and takes its result with the message as it came"""
    first = ask(world, tools=[WEATHER])
    message = first.choices[0].message
    expect("finish reason", first.choices[0].finish_reason, "tool_calls")
    expect("arguments", json.loads(message.tool_calls[0].function.arguments), ARGUMENTS)
    last = ask(world, messages=[*HELLO, message, *results(message.tool_calls)], tools=[WEATHER])
    expect("text", last.choices[0].message.content, answers.AFTER_TOOLS)


@case("openai", "tools")
def calls_in_parallel(world: World) -> None:
    """calls tools in parallel, with their ids"""
    message = ask(world, messages=BOTH, tools=[WEATHER], parallel_tool_calls=True).choices[0].message
    expect("ids", [call.id for call in message.tool_calls], ["call_0_x9Kq", "call_1_x9Kq"])
    turns = [*BOTH, message.model_dump(exclude_unset=True), *results(message.tool_calls)]
    expect("text", ask(world, messages=turns, tools=[WEATHER]).choices[0].message.content, answers.AFTER_TOOLS)


@case("openai", "tools")
def streams_calls(world: World) -> None:
    """streams parallel calls, told apart by their index"""
    calls: dict[int, dict[str, str]] = {}
    for chunk in ask(world, messages=BOTH, tools=[WEATHER], stream=True):
        for piece in (chunk.choices[0].delta.tool_calls or []) if chunk.choices else []:
            call = calls.setdefault(piece.index, {"id": "", "arguments": ""})
            call["id"] += piece.id or ""
            call["arguments"] += piece.function.arguments or ""
    expect("ids", [calls[index]["id"] for index in sorted(calls)], ["call_0_x9Kq", "call_1_x9Kq"])
    expect("arguments", [json.loads(call["arguments"]) for call in calls.values()], [ARGUMENTS, ARGUMENTS])


@case("openai", "tools")
def assembles_calls(world: World) -> None:
    """streams parallel calls to the helper that assembles a completion"""
    with client(world).chat.completions.stream(model="openai/gpt-4o", messages=BOTH, tools=[WEATHER]) as stream:
        message = stream.get_final_completion().choices[0].message
    expect("arguments", [json.loads(call.function.arguments) for call in message.tool_calls], [ARGUMENTS, ARGUMENTS])
    turns = [*BOTH, message, *results(message.tool_calls)]
    expect("text", ask(world, messages=turns, tools=[WEATHER]).choices[0].message.content, answers.AFTER_TOOLS)


@case("openai", "tools")
def forces_a_tool(world: World) -> None:
    """forces a tool by name"""
    choice = {"type": "function", "function": {"name": "get_weather"}}
    call = ask(world, tools=[WEATHER], tool_choice=choice).choices[0].message.tool_calls[0]
    expect("name", call.function.name, "get_weather")


@case("openai", "tools")
def calls_custom_tools(world: World) -> None:
    """calls a custom tool with a grammar"""
    grammar = {"type": "grammar", "grammar": {"syntax": "regex", "definition": "[0-9+ ]+"}}
    tool = {"type": "custom", "custom": {"name": "calculate", "format": grammar}}
    message = ask(world, tools=[tool]).choices[0].message
    expect("input", (message.tool_calls[0].type, message.tool_calls[0].custom.input), ("custom", "2 + 2"))
    ask(world, messages=[*HELLO, message, *results(message.tool_calls)], tools=[tool])


@case("openai", "tools")
def calls_legacy_functions(world: World) -> None:
    """calls a function in the old form, and takes its result"""
    functions = [WEATHER["function"]]
    message = ask(world, functions=functions, function_call="auto").choices[0].message
    expect("name", message.function_call.name, "get_weather")
    turn = {"role": "assistant", "content": None, "function_call": message.function_call.model_dump()}
    result = {"role": "function", "name": "get_weather", "content": "sunny"}
    last = ask(world, messages=[*HELLO, turn, result], functions=functions)
    expect("text", last.choices[0].message.content, answers.AFTER_TOOLS)


@case("openai", "tools", wire=False)
def runs_a_loop_with_claude(world: World) -> None:
    """calls Claude's tools in parallel and takes their results"""
    model = "anthropic/claude-sonnet-4-5"
    message = ask(world, model, BOTH, tools=[WEATHER]).choices[0].message
    expect("arguments", [json.loads(call.function.arguments) for call in message.tool_calls], [ARGUMENTS, ARGUMENTS])
    last = ask(world, model, [*BOTH, message, *results(message.tool_calls)], tools=[WEATHER])
    expect("text", last.choices[0].message.content, answers.AFTER_TOOLS)


@case("openai", "tools", wire=False)
def streams_calls_of_claude(world: World) -> None:
    """streams Claude's parallel calls"""
    options = {"model": "anthropic/claude-sonnet-4-5", "messages": BOTH, "tools": [WEATHER]}
    with client(world).chat.completions.stream(**options) as stream:
        message = stream.get_final_completion().choices[0].message
    expect("arguments", [json.loads(call.function.arguments) for call in message.tool_calls], [ARGUMENTS, ARGUMENTS])


@case("openai", "structured output")
def parses_a_model(world: World) -> None:
    """parses into a pydantic model"""
    openai = client(world)
    reply = openai.chat.completions.parse(model="openai/gpt-4o", messages=HELLO, response_format=Person)
    expect("parsed", reply.choices[0].message.parsed, ADA)


@case("openai", "structured output")
def streams_a_model(world: World) -> None:
    """streams into a pydantic model"""
    options = {"model": "openai/gpt-4o", "messages": HELLO, "response_format": Person}
    with client(world).chat.completions.stream(**options) as stream:
        whole = stream.get_final_completion()
    expect("parsed", whole.choices[0].message.parsed, ADA)


@case("openai", "structured output")
def parses_a_tool(world: World) -> None:
    """parses the arguments of a pydantic tool"""
    tools = [pydantic_function_tool(Person)]
    reply = client(world).chat.completions.parse(model="openai/gpt-4o", messages=HELLO, tools=tools)
    expect("parsed", reply.choices[0].message.tool_calls[0].function.parsed_arguments, ADA)


@case("openai", "structured output")
def parses_a_refusal(world: World) -> None:
    """parses a refusal as one"""
    reply = client(world).chat.completions.parse(model="acme/refuses", messages=HELLO, response_format=Person)
    message = reply.choices[0].message
    expect("refusal", (message.parsed, message.refusal), (None, answers.REFUSAL))


@case("openai", "structured output")
def answers_any_json(world: World) -> None:
    """answers a JSON object without a schema"""
    reply = ask(world, response_format={"type": "json_object"})
    expect("object", json.loads(reply.choices[0].message.content), answers.PERSON)


@case("openai", "structured output", wire=False)
def parses_a_model_of_claude(world: World) -> None:
    """parses a Claude model's answer into a pydantic model"""
    openai = client(world)
    options = {"model": "anthropic/claude-sonnet-4-5", "messages": HELLO, "response_format": Person}
    expect("parsed", openai.chat.completions.parse(**options).choices[0].message.parsed, ADA)
