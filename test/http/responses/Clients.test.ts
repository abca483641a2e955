/**
 * Requests of real clients, recorded, with long texts cut: what providers of each dialect receive.
 * Each dialect's body is read by the vendor's own names, and must say what the client said.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { readFileSync } from "node:fs"
import { ResponsesRequest } from "../../../src/api/responses/Request.ts"
import { type ModelOffer, type ProviderConfig } from "../../../src/domain/Catalog.ts"
import { translated } from "../../../src/http/responses/Request.ts"
import { makeAnthropic } from "../../../src/providers/anthropic/Anthropic.ts"
import { makeBedrock } from "../../../src/providers/bedrock/Bedrock.ts"
import { makeGemini } from "../../../src/providers/gemini/Gemini.ts"
import { makeOpenAi } from "../../../src/providers/openai/OpenAi.ts"
import { type Provider } from "../../../src/providers/Provider.ts"
import { makeResponses } from "../../../src/providers/responses/Responses.ts"
import { type Transport } from "../../../src/providers/transport/Transport.ts"
import { config, offer, replay } from "../../providers/replayedTransport.ts"
import {
  type Json,
  type Said,
  saidInChat,
  saidInConverse,
  saidInGemini,
  saidInMessages,
  saidInResponses
} from "../../support/said.ts"

interface Dialect {
  readonly name: string
  readonly make: (config: ProviderConfig, transport: Transport["Service"]) => Provider
  readonly config?: Partial<ProviderConfig>
  readonly offer?: Partial<ModelOffer>
  readonly read: (body: Json) => Said
}

const dialects: ReadonlyArray<Dialect> = [
  { name: "openai", make: makeOpenAi, config: { baseUrl: "https://api.openai.com/v1" }, read: saidInChat },
  { name: "another server of the openai dialect", make: makeOpenAi, read: saidInChat },
  { name: "responses", make: makeResponses, offer: { hidesReasoning: true, api: "responses" }, read: saidInResponses },
  { name: "anthropic", make: makeAnthropic, offer: { upstream: "claude-sonnet-4-5" }, read: saidInMessages },
  { name: "gemini", make: makeGemini, offer: { upstream: "gemini-3-flash-preview" }, read: saidInGemini },
  { name: "bedrock", make: makeBedrock, offer: { upstream: "anthropic.claude-sonnet-4-5-v1:0" }, read: saidInConverse }
]

const clients = [
  "agents-sdk",
  "ai-sdk",
  "codex",
  "codex-lite",
  "codex-other-model",
  "langchain",
  "opencode",
  "opencode-title"
]

const recorded = (client: string): ResponsesRequest =>
  Schema.decodeUnknownSync(ResponsesRequest)(
    JSON.parse(readFileSync(new URL(`./fixtures/${client}.json`, import.meta.url), "utf8"))
  )

/** The body that a provider of the dialect gets. */
const bodyAt = (dialect: Dialect, client: string): string => {
  const bodies: Array<string> = []
  const transport = replay({ chunks: [], onSend: (_path, body) => void bodies.push(body) })
  const { only, request } = Result.getOrThrow(translated(recorded(client)))
  assert.isNull(only)
  Effect.runSyncExit(
    dialect.make(config(dialect.config), transport).chat({ request, offer: { ...offer, ...dialect.offer } })
  )
  return bodies[0] ?? "{}"
}

/** Texts of one turn may be joined, with or without a space. */
const closed = (one: string): string => one.replaceAll(/\s+/g, "")
const joined = (texts: ReadonlyArray<string>): string => closed(texts.join(""))

describe.each(clients)("a request of %s", (client) => {
  it.each(dialects)("is understood by $name", (dialect) => {
    const body = bodyAt(dialect, client)
    const said = dialect.read(JSON.parse(body))
    const expected = saidInResponses(recorded(client))
    assert.deepStrictEqual(said.tools, expected.tools)
    assert.strictEqual(joined(said.instructions), joined(expected.instructions))
    assert.strictEqual(joined(said.user), joined(expected.user))
    assert.strictEqual(joined(said.assistant), joined(expected.assistant))
    assert.deepStrictEqual(said.calls.map(closed), expected.calls.map(closed))
    assert.strictEqual(said.pictures, expected.pictures)
    assert.strictEqual(said.files, expected.files)
  })

  it.each(dialects)("does not give $name the ids of items, or another vendor's reasoning", (dialect) => {
    const body = bodyAt(dialect, client)
    assert.notMatch(body, /"(?:msg|fc|fco|ctc|ctco|tsc|tso|rs|at)_\w+"/)
    const isSealed = JSON.stringify(recorded(client)).includes("gAAAAB")
    assert.strictEqual(body.includes("gAAAAB"), isSealed && dialect.name === "responses")
  })
})

it("tells what is left out of the requests of agents", () => {
  const dropped = (client: string) => Result.getOrThrow(translated(recorded(client))).dropped
  assert.deepStrictEqual(dropped("codex"), ["tools.web_search"])
  assert.deepStrictEqual(dropped("codex-other-model"), ["tools.web_search"])
  assert.deepStrictEqual(dropped("codex-lite"), ["reasoning.context"])
  for (const client of ["opencode", "opencode-title", "agents-sdk", "ai-sdk", "langchain"])
    assert.deepStrictEqual(dropped(client), [])
})

it("gives each of Codex's tools back as it was declared", () => {
  const { tools } = Result.getOrThrow(translated(recorded("codex-lite")))
  assert.deepStrictEqual(tools.declared("exec"), { kind: "custom", name: "exec" })
  assert.deepStrictEqual(tools.declared("mcp__issues__create"), {
    kind: "function",
    name: "create",
    namespace: "mcp__issues"
  })
  assert.deepStrictEqual(Result.getOrThrow(translated(recorded("codex"))).tools.declared("tool_search"), {
    kind: "tool_search"
  })
})

it("gives reasoning back under the name that a vendor demands with tools", () => {
  const body = bodyAt(
    { name: "DeepSeek", make: makeOpenAi, config: { baseUrl: "https://api.deepseek.com/v1" }, read: saidInChat },
    "opencode"
  )
  assert.include(body, '"reasoning_content":"I should look first."')
  assert.notMatch(body, /"(?:reasoning_details|phase|prompt_cache_key)"/)
})
