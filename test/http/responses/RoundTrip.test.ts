/**
 * Requests of the Responses API through the form of chat completions and back to the API, and chat
 * completions through the API: nothing that both can say is lost.
 */
import { assert, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { ResponsesRequest } from "../../../src/api/responses/Request.ts"
import { ChatRequest } from "../../../src/domain/Chat.ts"
import { translated } from "../../../src/http/responses/Request.ts"
import { lowerRequest } from "../../../src/providers/responses/Request.ts"
import { offer } from "../../providers/replayedTransport.ts"
import { isJson, type Json, list, of } from "../../support/said.ts"
import {
  choiceOf,
  Conversation,
  formatOf,
  given,
  itemsOf,
  named,
  type Picture,
  schema,
  Settings,
  tools,
  type Turn
} from "./conversations.ts"

const chatOf = (body: unknown) => Result.getOrThrow(translated(Schema.decodeUnknownSync(ResponsesRequest)(body)))
const bodyOf = (request: ChatRequest): Json =>
  JSON.parse(String(Result.getOrThrow(lowerRequest(request, { ...offer, hidesReasoning: true }, "alpha", false)).body))

const requestOf = (turns: ReadonlyArray<Turn>, settings: Settings): Json => {
  const { effort, key, metadata, parallel, retention, summary, tier, top_logprobs, user, verbosity } = settings
  return {
    model: "test/small",
    instructions: "Be brief.",
    input: [...turns.flatMap(itemsOf), { role: "user", content: "And now?" }],
    tools,
    ...named({
      temperature: settings.temperature,
      top_p: settings.top_p,
      max_output_tokens: settings.max_output_tokens,
      tool_choice: choiceOf(settings),
      parallel_tool_calls: parallel,
      top_logprobs,
      prompt_cache_key: key,
      prompt_cache_retention: retention,
      service_tier: tier,
      metadata,
      user
    }),
    reasoning: named({ effort, summary }),
    text: named({ format: formatOf(settings), verbosity })
  }
}

// What a body of the API says, whatever its form

const parts = (content: unknown): ReadonlyArray<unknown> =>
  typeof content === "string"
    ? [content].filter((text) => text !== "")
    : list(content).map(({ detail, image_url, refusal, text }) => text ?? refusal ?? [image_url, detail])

const flat = ({ name, namespace }: Json): string =>
  typeof namespace === "string" ? `issues__${String(name)}` : String(name)

const eventOf = (item: Json): ReadonlyArray<unknown> => {
  switch (item["type"] ?? "message") {
    case "reasoning":
      return ["reasoning", list(item["summary"]).map(({ text }) => text), item["encrypted_content"]]
    case "function_call":
      return ["call", item["call_id"], flat(item), JSON.parse(String(item["arguments"]))]
    case "custom_tool_call":
      return ["call", item["call_id"], item["name"], { input: item["input"] }]
    case "function_call_output":
    case "custom_tool_call_output":
      return ["output", item["call_id"], parts(item["output"])]
    default:
      return [item["role"], parts(item["content"]), item["phase"] ?? null]
  }
}

/** The first instructions are one text. */
const events = ({ input, instructions }: Json) => {
  const all = list(input).map(eventOf)
  const first = all.findIndex(([role]) => role !== "developer")
  const leading = all.slice(0, first).flatMap(([, texts]) => texts)
  return { leading: [instructions ?? [], ...leading].flat().join("\n\n"), rest: all.slice(first) }
}

const toolNames = (choice: unknown): unknown => {
  if (!isJson(choice)) return choice
  const { mode, tools: allowed } = choice
  return choice["type"] === "allowed_tools" ? [mode, list(allowed).map(flat)] : flat(choice)
}

const settingsOf = (body: Json) => {
  const { include: _i, input: _n, instructions: _s, model: _m, reasoning, store: _t, stream: _r, text, ...rest } = body
  // Models that reason fix the sampling.
  const { temperature: _e, tool_choice: choice, tools: _o, top_p: _p, ...others } = rest
  return { ...others, choice: toolNames(choice), reasoning: of(reasoning), text: of(text) }
}

it.prop(
  "a request says the same after chat completions",
  { turns: Conversation, settings: Settings },
  ({ settings, turns }) => {
    const sent = requestOf(turns, settings)
    const { dropped, only, request } = chatOf(sent)
    assert.deepStrictEqual(dropped, [])
    assert.isNull(only)
    const received = bodyOf(request)
    assert.deepStrictEqual(events(received), events(sent))
    assert.deepStrictEqual(settingsOf(received), settingsOf(sent))
    assert.deepInclude(request, named({ temperature: settings.temperature, top_p: settings.top_p }))
    assert.deepStrictEqual(
      list(received["tools"]).map(({ name, type }) => [type, name]),
      [
        ["function", "read"],
        ["function", "apply_patch"],
        ["function", "issues__create"]
      ]
    )
  }
)

// The other way

/** The conversation as a chat completion. */
const chatRequestOf = (turns: ReadonlyArray<Turn>, settings: Settings): ChatRequest => {
  const picture = ({ detail, url }: typeof Picture.Type) => ({
    type: "image_url",
    image_url: { url: `data:${url}`, detail }
  })
  const texts = (all: ReadonlyArray<string>) => all.map((text) => ({ type: "text", text }))
  const messages = turns.flatMap((turn, at) => {
    const calls = turn.calls.map(({ given, tool }, index) => ({
      id: `call_${at}_${index}`,
      type: "function",
      function: { name: tool.replace(".", "__"), arguments: JSON.stringify({ given }) }
    }))
    const hasReply = turn.said !== null || turn.refused !== null || calls.length > 0
    const marks = { id: `rs_${at}`, format: "openai-responses-v1", native: true }
    const details = [
      ...turn.summary.map((summary) => ({ type: "reasoning.summary", summary, ...marks })),
      ...(turn.sealed === null ? [] : [{ type: "reasoning.encrypted", data: turn.sealed, ...marks }])
    ].map((detail, index) => ({ ...detail, index }))
    return [
      ...(turn.instructions === null ? [] : [{ role: "developer", content: turn.instructions }]),
      { role: "user", content: [...texts([`turn ${at}`, ...turn.user]), ...turn.pictures.map(picture)] },
      ...(hasReply
        ? [
            {
              role: "assistant",
              content: turn.said,
              ...given("refusal", turn.refused),
              ...(turn.sealed === null ? {} : { reasoning_details: details }),
              ...(turn.sealed === null || turn.summary.length === 0 ? {} : { reasoning: turn.summary.join("\n\n") }),
              ...(calls.length === 0 ? {} : { tool_calls: calls }),
              ...(turn.said === null && turn.refused === null ? {} : given("phase", turn.phase))
            }
          ]
        : []),
      ...turn.calls.map(({ output, picture: shown }, index) => ({
        role: "tool",
        tool_call_id: `call_${at}_${index}`,
        content: [...texts(["Result:", ...output]), ...(shown === null ? [] : [picture(shown)])]
      }))
    ]
  })
  const format = formatOf(settings)
  const { type, ...json_schema } = format ?? {}
  return Schema.decodeUnknownSync(ChatRequest)({
    model: "small-2026",
    messages: [{ role: "system", content: "Be brief." }, ...messages, { role: "user", content: "And now?" }],
    tools: [{ type: "function", function: { name: "read", description: "Reads.", parameters: schema, strict: true } }],
    ...named({
      max_completion_tokens: settings.max_output_tokens,
      tool_choice: settings.choice === "read" ? { type: "function", function: { name: "read" } } : "auto",
      parallel_tool_calls: settings.parallel,
      logprobs: settings.top_logprobs === null ? null : true,
      top_logprobs: settings.top_logprobs,
      prompt_cache_key: settings.key,
      service_tier: settings.tier,
      metadata: settings.metadata,
      user: settings.user,
      verbosity: settings.verbosity,
      reasoning_effort: settings.effort,
      response_format: format === null ? null : { type, ...(type === "json_object" ? {} : { json_schema }) }
    }),
    ...(settings.summary === null ? {} : { reasoning: { summary: settings.summary } })
  })
}

/** Content in one form. The first instructions are one text. */
const plain = ({ messages, ...request }: ChatRequest) => {
  const first = messages.findIndex(({ role }) => role === "user")
  return {
    ...request,
    leading: messages
      .slice(0, first)
      .flatMap(({ content }) => (typeof content === "string" ? [content] : []))
      .join("\n\n"),
    messages: messages.slice(first).map(({ content, reasoning_details, role, ...message }) => ({
      ...message,
      role: role === "developer" ? "system" : role,
      content: typeof content === "string" ? [{ type: "text", text: content }] : content,
      // The API's own ids are not sent.
      details: list(reasoning_details).map(({ id: _id, ...detail }) => detail)
    }))
  }
}

it.prop(
  "a chat completion says the same after a request of the API",
  { turns: Conversation, settings: Settings },
  ({ settings, turns }) => {
    const request = chatRequestOf(turns, settings)
    const { dropped, request: again } = chatOf(bodyOf(request))
    assert.deepStrictEqual(dropped, [])
    assert.deepStrictEqual(plain(again), plain(request))
  }
)
