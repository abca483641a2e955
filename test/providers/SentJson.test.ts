/**
 * The long members of a body go out as the client wrote them, and the body means what it would mean
 * if it were written anew. A text is given once, so the second call of a request is written anew.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { readFileSync } from "node:fs"
import { type ModelOffer, type ProviderConfig } from "../../src/domain/Catalog.ts"
import { type ChatRequest } from "../../src/domain/Chat.ts"
import { type NativeRequest } from "../../src/domain/Native.ts"
import { nativeRequest as nativeMessages } from "../../src/http/messages/Native.ts"
import { translated as fromMessages } from "../../src/http/messages/Request.ts"
import { nativeRequest as nativeResponses } from "../../src/http/responses/Native.ts"
import { translated as fromResponses } from "../../src/http/responses/Request.ts"
import { makeAnthropic } from "../../src/providers/anthropic/Anthropic.ts"
import { makeOpenAi } from "../../src/providers/openai/OpenAi.ts"
import { type Provider } from "../../src/providers/Provider.ts"
import { makeResponses } from "../../src/providers/responses/Responses.ts"
import { agentBody } from "../../scripts/bench/agentBodies.ts"
import { chatPayload, messagesPayload, receivedAs, responsesPayload } from "../support/receivedBody.ts"
import { firstTurn, laterTurn } from "../http/messages/claudeCode.ts"
import { config, offer, replay } from "./replayedTransport.ts"

interface Asked {
  readonly request: ChatRequest
  readonly native?: NativeRequest
}

const asked = {
  chat: (text: string) => Effect.map(receivedAs(chatPayload, text), (request): Asked => ({ request })),
  messages: (text: string) =>
    Effect.map(receivedAs(messagesPayload, text), (body): Asked => {
      const { only, request } = Result.getOrThrow(fromMessages(body))
      return { request, native: nativeMessages(body, {}, only) }
    }),
  responses: (text: string) =>
    Effect.map(receivedAs(responsesPayload, text), (body): Asked => {
      const translated = Result.getOrThrow(fromResponses(body))
      return { request: translated.request, native: nativeResponses(body, {}, translated) }
    })
}
type Surface = keyof typeof asked

interface Target {
  readonly make: typeof makeOpenAi
  readonly config?: Partial<ProviderConfig>
  readonly offer?: Partial<ModelOffer>
}

const vendors = [
  "https://alpha.test/v1",
  "https://api.openai.com/v1",
  "https://openrouter.ai/api/v1",
  "https://api.deepseek.com",
  "https://api.groq.com/openai/v1",
  "https://api.mistral.ai/v1",
  "https://api.x.ai/v1"
]
const targets: Readonly<Record<Surface, ReadonlyArray<Target>>> = {
  chat: vendors.map((baseUrl) => ({ make: makeOpenAi, config: { baseUrl } })),
  messages: [{ make: makeAnthropic, offer: { upstream: "claude-sonnet-4-5" } }],
  responses: [{ make: makeResponses, offer: { api: "responses" } }]
}

/** The bodies of two calls of one request. */
const bodiesOf = ({ config: more, make, offer: own }: Target, { native, request }: Asked, streamed: boolean) =>
  Effect.gen(function* () {
    const bodies: Array<string> = []
    const provider: Provider = make(config(more), replay({ chunks: [], onSend: (_, body) => void bodies.push(body) }))
    const call = { request, native, offer: { ...offer, ...own } }
    for (let calls = 0; calls < 2; calls++)
      yield* Effect.exit(Effect.scoped(streamed ? provider.chatStream(call) : Effect.asVoid(provider.chat(call))))
    return bodies
  })

/** Sends a body to each target, and returns the bodies of the first calls. */
const sentOf = Effect.fnUntraced(function* (surface: Surface, text: string, streamed: boolean) {
  const firsts: Array<string> = []
  for (const target of targets[surface]) {
    const [first, second] = yield* bodiesOf(target, yield* asked[surface](text), streamed)
    assert.deepStrictEqual(JSON.parse(first ?? ""), JSON.parse(second ?? ""))
    firsts.push(first ?? "")
  }
  return firsts
})

const surfaces = ["chat", "messages", "responses"] as const
const long = "A road is paid for by those who use it. ".repeat(150)

describe.each(surfaces)("a long request of %s", (surface) => {
  it.effect("of a coding agent goes out in its own text, whoever gets it", () =>
    Effect.gen(function* () {
      const body = agentBody(surface, "test/small", { characters: 60_000, count: 1, nonce: "n", stream: false })
      const spaced = JSON.stringify(JSON.parse(body), null, 1)
      const history = surface === "responses" ? "input" : "messages"
      for (const streamed of [false, true]) {
        for (const [at, sent] of (yield* sentOf(surface, spaced, streamed)).entries()) {
          const said = JSON.parse(sent)
          const isKept = (name: string) =>
            sent.includes(`"${name}":${JSON.stringify(JSON.parse(spaced)[name], null, 1).replaceAll("\n", "\n ")}`)
          assert.strictEqual(said.stream, streamed)
          assert.isTrue(isKept("tools"), String(at))
          // A vendor that takes fewer members gets other messages.
          assert.strictEqual(isKept(history), !(vendors[at] ?? "").match(/groq|mistral/), String(at))
        }
      }
    })
  )
})

it.effect("a recorded request means the same in either text", () =>
  Effect.gen(function* () {
    for (const turn of [firstTurn, laterTurn]) yield* sentOf("messages", JSON.stringify(turn, null, 2), true)
    for (const name of ["codex", "codex-lite", "opencode", "agents-sdk", "ai-sdk", "langchain"]) {
      const url = new URL(`../http/responses/fixtures/${name}.json`, import.meta.url)
      yield* sentOf("responses", readFileSync(url, "utf8"), true)
    }
  })
)

it.effect.prop(
  "any chat request means the same in either text",
  {
    role: Schema.Literals(["user", "developer", "assistant", "tool"]),
    member: Schema.Literals(["reasoning", "images", "cache_control", "citations", "phase", "name", "tool_calls", "x"]),
    value: Schema.Json,
    top: Schema.Literals(["cache_control", "session_id", "top_k", "verbosity", "reasoning", "seed", "unknown"]),
    streamed: Schema.Boolean
  },
  ({ member, role, streamed, top, value }) =>
    Effect.gen(function* () {
      const free = ["reasoning", "name", "tool_calls"].includes(member) ? null : value
      const parts = [{ type: "text", text: long, cache_control: { type: "ephemeral" } }]
      const body = {
        model: "test/small",
        messages: [
          { role: "user", content: role === "tool" ? parts : long },
          { role, content: "Hi", tool_call_id: "call_1", [member]: free }
        ],
        tools: [{ type: "function", function: { name: "f", description: long }, [member]: free }],
        provider: { order: ["alpha"] },
        [top]: top === "seed" ? 7 : value,
        max_completion_tokens: 9
      }
      yield* sentOf("chat", JSON.stringify(body), streamed)
    })
)
