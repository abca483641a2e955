/**
 * The APIs that answer a conversation, as a table: how a request is written for each, and how its
 * answer is read. Tests of what holds for all of them (keys, limits, budgets, privacy, retries,
 * broken streams) run once for each row.
 */
import { type ScriptedProvider } from "../../src/testing/ScriptedProvider.ts"
import { speakingMessages, speakingResponses } from "./nativeLane.ts"
import { assert, it } from "@effect/vitest"
import { type Effect, type Scope } from "effect"
import { assembledMessage } from "./messageEvents.ts"
import { assembledResponse } from "./responseEvents.ts"

export interface Asking {
  readonly text: string
  readonly model?: string
  readonly system?: string
  /** The name of a tool that takes any object. */
  readonly tool?: string
  /** An earlier call of this tool, with its result. */
  readonly called?: { readonly tool: string; readonly argument: string; readonly result: string }
  readonly maxTokens?: number
  readonly stream?: boolean
}

/** An answer, whole or streamed, as a client of the surface reads it. */
export interface ReadAnswer {
  readonly id: string | undefined
  readonly model: string | undefined
  readonly text: string
  /** The joined arguments of each tool call. */
  readonly toolArguments: ReadonlyArray<string>
  /** All tokens of the prompt, and those of the answer. */
  readonly tokens: readonly [prompt: number, completion: number] | undefined
  /** The code and the words of an error, in the body or in the stream. */
  readonly error:
    { readonly code: string; readonly message: string; readonly details: Readonly<Record<string, unknown>> } | undefined
  /** Whether it has its proper end. */
  readonly isWhole: boolean
}

export interface Surface {
  readonly name: string
  /** Makes a scripted provider speak this API. Absent: requests are translated. */
  readonly provider?: (provider: ScriptedProvider) => ScriptedProvider
  readonly path: string
  readonly body: (asking: Asking) => Readonly<Record<string, unknown>>
  /** The status here of an error that chat completions answer with `status`. */
  readonly status: (status: number) => number
  /** Whether a stream tells its usage after an error too. */
  readonly tellsUsageOfBroken: boolean
  readonly read: (text: string) => ReadAnswer
  /** Whether the end of a stream is that of a whole answer. */
  readonly endsWell: (tail: string) => boolean
  /** Fails if a stream has events that a strict client does not expect. */
  readonly assertStream: (text: string) => void
}

const schema = { type: "object", properties: { to: { type: "string" } } }

/** The data of each event of a stream, or the body alone. */
const bodiesOf = (text: string): ReadonlyArray<ReturnType<typeof JSON.parse>> =>
  text.startsWith("{")
    ? [JSON.parse(text)]
    : text
        .split("\n")
        .filter((line) => line.startsWith("data: ") && line !== "data: [DONE]")
        .map((line) => JSON.parse(line.slice(6)))

export const chatSurface: Surface = {
  name: "chat",
  path: "/v1/chat/completions",
  body: ({ called, maxTokens, model = "test/small", stream = false, system, text, tool }) => ({
    model,
    stream,
    messages: [
      ...(system === undefined ? [] : [{ role: "system", content: system }]),
      { role: "user", content: text },
      ...(called === undefined
        ? []
        : [
            {
              role: "assistant",
              content: null,
              tool_calls: [
                { id: "call_1", type: "function", function: { name: called.tool, arguments: called.argument } }
              ]
            },
            { role: "tool", tool_call_id: "call_1", content: called.result }
          ])
    ],
    ...(tool === undefined ? {} : { tools: [{ type: "function", function: { name: tool, parameters: schema } }] }),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens })
  }),
  status: (status) => status,
  tellsUsageOfBroken: true,
  read: (text) => {
    const bodies = bodiesOf(text)
    const choices = bodies.flatMap(({ choices }) => choices ?? [])
    const messages = choices.map(({ delta, message }) => message ?? delta)
    const toolArguments: Array<string> = []
    for (const [at, call] of messages.flatMap(({ tool_calls }) => tool_calls ?? []).entries()) {
      const index = call.index ?? at
      toolArguments[index] = (toolArguments[index] ?? "") + (call.function.arguments ?? "")
    }
    const usage = bodies.findLast((body) => Boolean(body.usage))?.usage
    const error = bodies.find((body) => body.error !== undefined)?.error
    return {
      id: bodies[0]?.id,
      model: bodies[0]?.model,
      text: messages.map(({ content }) => content ?? "").join(""),
      toolArguments,
      tokens: usage === undefined ? undefined : [usage.prompt_tokens, usage.completion_tokens],
      error,
      isWhole: error === undefined && choices.some((choice) => choice.finish_reason) && /^\{|\[DONE\]\n\n$/.test(text)
    }
  },
  endsWell: (tail) => tail.endsWith("data: [DONE]\n\n"),
  assertStream: (text) => {
    assert.strictEqual(text.indexOf("data: [DONE]\n\n"), text.length - "data: [DONE]\n\n".length)
    const choices = bodiesOf(text).flatMap(({ choices }) => choices)
    assert.strictEqual(choices[0].delta.role, "assistant")
    assert.deepStrictEqual(choices.filter((choice) => choice.finish_reason !== null).length, 1)
  }
}

export const messagesSurface: Surface = {
  name: "messages",
  path: "/v1/messages",
  body: ({ called, maxTokens = 100, model = "test/small", stream = false, system, text, tool }) => ({
    model,
    stream,
    max_tokens: maxTokens,
    messages: [
      { role: "user", content: text },
      ...(called === undefined
        ? []
        : [
            {
              role: "assistant",
              content: [{ type: "tool_use", id: "call_1", name: called.tool, input: JSON.parse(called.argument) }]
            },
            { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: called.result }] }
          ])
    ],
    ...(system === undefined ? {} : { system: [{ type: "text", text: system }] }),
    ...(tool === undefined ? {} : { tools: [{ name: tool, input_schema: schema }] })
  }),
  status: (status) => (status === 422 ? 400 : status),
  tellsUsageOfBroken: false,
  read: (text) => {
    const bodies = bodiesOf(text)
    const ofType = (type: string) => bodies.filter((body) => body.type === type)
    const [message] = [...ofType("message"), ...ofType("message_start").map((start) => start.message)]
    const blocks: Array<Record<string, string>> = (message?.content ?? []).map(
      ({ input, ...block }: { readonly input?: unknown }) => ({ ...block, partial_json: JSON.stringify(input) })
    )
    for (const { content_block, index } of ofType("content_block_start")) {
      blocks[index] = { ...content_block, partial_json: "" }
    }
    for (const { delta, index } of ofType("content_block_delta")) {
      const block = blocks[index] ?? {}
      for (const member of ["text", "thinking", "partial_json"]) {
        if (member in delta) block[member] = (block[member] ?? "") + delta[member]
      }
    }
    const usage = [...ofType("message"), ...ofType("message_delta")].at(-1)?.usage
    const [failed] = ofType("error")
    return {
      id: message?.id,
      model: message?.model,
      text: blocks.flatMap(({ text: piece, type }) => (type === "text" ? (piece ?? "") : [])).join(""),
      toolArguments: blocks.flatMap((block) => (block["type"] === "tool_use" ? (block["partial_json"] ?? "") : [])),
      tokens:
        usage === undefined
          ? undefined
          : [
              usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
              usage.output_tokens
            ],
      error:
        failed === undefined
          ? undefined
          : {
              code: failed.error.details.error_code,
              message: failed.error.message,
              details: failed.error.details
            },
      isWhole: failed === undefined && (message?.stop_reason != null || ofType("message_stop").length === 1)
    }
  },
  endsWell: (tail) => tail.endsWith(`event: message_stop\ndata: {"type":"message_stop"}\n\n`),
  assertStream: (text) => void assembledMessage(text)
}

export const responsesSurface: Surface = {
  name: "responses",
  path: "/v1/responses",
  body: ({ called, maxTokens, model = "test/small", stream = false, system, text, tool }) => ({
    model,
    stream,
    input: [
      { role: "user", content: [{ type: "input_text", text }] },
      ...(called === undefined
        ? []
        : [
            { type: "function_call", call_id: "call_1", name: called.tool, arguments: called.argument },
            { type: "function_call_output", call_id: "call_1", output: called.result }
          ])
    ],
    ...(system === undefined ? {} : { instructions: system }),
    ...(tool === undefined ? {} : { tools: [{ type: "function", name: tool, parameters: schema }] }),
    ...(maxTokens === undefined ? {} : { max_output_tokens: maxTokens })
  }),
  status: (status) => (status === 422 ? 400 : status === 402 ? 429 : status),
  tellsUsageOfBroken: true,
  read: (text) => {
    const bodies = bodiesOf(text)
    const whole = text.startsWith("{")
    const ends = ["response.completed", "response.incomplete", "response.failed"]
    const ended = whole ? bodies : bodies.filter(({ type }) => ends.includes(type))
    const response = whole ? bodies[0] : ended[0]?.response
    const ofType = (type: string) => bodies.filter((body) => body.type === type)
    const delta = (type: string) =>
      ofType(type)
        .map((event) => event.delta)
        .join("")
    const output: ReadonlyArray<Record<string, never>> = response?.output ?? []
    const inputs = new Map<number, string>()
    for (const { delta, output_index } of ofType("response.function_call_arguments.delta")) {
      inputs.set(output_index, (inputs.get(output_index) ?? "") + delta)
    }
    const usage = response?.usage ?? undefined
    const error = response?.error ?? undefined
    return {
      id: whole ? response?.id : bodies[0]?.response?.id,
      model: whole ? response?.model : bodies[0]?.response?.model,
      text: whole
        ? output
            .flatMap(({ content = [], type }) =>
              type === "message" ? (content as ReadonlyArray<{ text: string }>) : []
            )
            .map((part) => part.text)
            .join("")
        : delta("response.output_text.delta"),
      toolArguments: whole
        ? output.flatMap((item) => (item["type"] === "function_call" ? String(item["arguments"]) : []))
        : [...inputs.values()],
      tokens: usage === undefined ? undefined : [usage.input_tokens, usage.output_tokens],
      error:
        error === undefined
          ? undefined
          : { code: error.details.error_code ?? error.code, message: error.message, details: error.details },
      isWhole: ended.length === 1 && ["completed", "incomplete"].includes(response?.status)
    }
  },
  endsWell: (tail) => /"error":null,"incomplete_details":null,"usage":\{.*\}\}\n\n$/.test(tail),
  assertStream: (text) => void assembledResponse(text)
}

/** In front of providers that speak the surface's API: they get requests as they are. */
const nativeMessages: Surface = { ...messagesSurface, name: "native messages", provider: speakingMessages }
const nativeResponses: Surface = { ...responsesSurface, name: "native responses", provider: speakingResponses }

export const surfaces: ReadonlyArray<Surface> = [chatSurface, messagesSurface, responsesSurface]

/** The surfaces, and the lanes on which requests are not translated. */
const lanes: ReadonlyArray<Surface> = [...surfaces, nativeMessages, nativeResponses]

/** A test for each lane, whose providers are made by `providersOn`. */
export const eachLane = (name: string, run: (surface: Surface) => Effect.Effect<void, unknown>): void => {
  for (const surface of lanes) it.effect(`${surface.name}: ${name}`, () => run(surface))
}

/** Scripted providers that speak the API of the lane. */
export const providersOn = (
  { provider: speaking = (provider) => provider }: Surface,
  providers: ReadonlyArray<ScriptedProvider>
): ReadonlyArray<ScriptedProvider> => providers.map(speaking)

/** A test for each surface. */
export const each = (name: string, run: (surface: Surface) => Effect.Effect<void, unknown>): void => {
  for (const surface of surfaces) it.effect(`${surface.name}: ${name}`, () => run(surface))
}

/** The same with the real clock. */
export const eachLive = (name: string, run: (surface: Surface) => Effect.Effect<void, unknown, Scope.Scope>): void => {
  for (const surface of surfaces) it.live(`${surface.name}: ${name}`, () => run(surface))
}
