/**
 * Every dialect's parameter table, checked against the requests that it sends and
 * docs/reference/dialects.md. A new dialect needs a row in `dialects`.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Result } from "effect"
import { readFileSync } from "node:fs"
import { type ModelOffer, type ProviderConfig } from "../../src/domain/Catalog.ts"
import { ChatRequest } from "../../src/domain/Chat.ts"
import { makeAnthropic } from "../../src/providers/anthropic/Anthropic.ts"
import { anthropicParameters } from "../../src/providers/anthropic/Request.ts"
import { makeBedrock } from "../../src/providers/bedrock/Bedrock.ts"
import { bedrockParameters } from "../../src/providers/bedrock/Request.ts"
import { makeGemini } from "../../src/providers/gemini/Gemini.ts"
import { geminiParameters } from "../../src/providers/gemini/Request.ts"
import { makeOpenAi, openAiParameters } from "../../src/providers/openai/OpenAi.ts"
import { responsesParameters } from "../../src/providers/responses/Request.ts"
import { makeResponses } from "../../src/providers/responses/Responses.ts"
import { type ParameterName, type Parameters } from "../../src/providers/wire/Parameters.ts"
import { type ChatCall, type Provider, type ProviderError } from "../../src/providers/Provider.ts"
import { type Transport } from "../../src/providers/transport/Transport.ts"
import { config, offer, replay } from "./replayedTransport.ts"

interface Dialect {
  readonly name: string
  readonly parameters: Parameters
  readonly make: (config: ProviderConfig, transport: Transport["Service"]) => Provider
  /** The dialect's simplest model that accepts all samples. */
  readonly upstream: string
  readonly api?: ModelOffer["api"]
}

const dialects: ReadonlyArray<Dialect> = [
  { name: "openai", parameters: openAiParameters, make: makeOpenAi, upstream: "small-2026" },
  { name: "anthropic", parameters: anthropicParameters, make: makeAnthropic, upstream: "claude-sonnet-4-5" },
  { name: "gemini", parameters: geminiParameters, make: makeGemini, upstream: "gemini-3.5-flash-lite" },
  {
    name: "bedrock",
    parameters: bedrockParameters,
    make: makeBedrock,
    upstream: "anthropic.claude-sonnet-4-5-20250929-v1:0"
  },
  {
    name: "openai, Responses",
    parameters: responsesParameters,
    make: makeResponses,
    upstream: "small-2026",
    api: "responses"
  }
]

const tool = (name: string) => ({
  type: "function",
  function: { name, parameters: { type: "object", properties: {} } }
})
const base: ChatRequest = {
  model: "test/small",
  messages: [{ role: "user", content: "hi" }],
  stream: false,
  tools: [tool("f"), tool("g")]
}

/** For each member a value that differs from `base`. */
const samples: Readonly<Record<ParameterName, unknown>> = {
  model: "test/large",
  messages: [{ role: "user", content: "ho" }],
  temperature: 0.3,
  max_tokens: 77,
  stream: true,
  user: "someone",
  metadata: { team: "a" },
  provider: { allow_fallbacks: true },
  response_format: {
    type: "json_schema",
    json_schema: { name: "r", schema: { type: "object", properties: { a: { type: "string" } } } }
  },
  models: ["test/large"],
  max_completion_tokens: 77,
  stream_options: { include_obfuscation: false },
  n: 2,
  top_p: 0.5,
  stop: ["END"],
  seed: 7,
  presence_penalty: 0.5,
  frequency_penalty: 0.5,
  logprobs: true,
  top_logprobs: 3,
  logit_bias: { "50256": -100 },
  tools: [tool("h")],
  tool_choice: "required",
  parallel_tool_calls: false,
  reasoning_effort: "low",
  modalities: ["text", "audio"],
  prediction: { type: "content", content: "x" },
  service_tier: "default",
  reasoning: { max_tokens: 2_000 },
  thinking: { type: "enabled", budget_tokens: 2_000 },
  top_k: 7,
  verbosity: "low",
  cache_control: { type: "ephemeral" },
  web_search_options: { search_context_size: "low" },
  prompt_cache_key: "chat-7",
  safety_identifier: "user-1",
  session_id: "chat-7"
}
const members = Object.keys(samples) as ReadonlyArray<ParameterName>

interface Sent {
  /** With the path. */
  readonly body: string
  readonly leftOut: ReadonlyArray<string>
}

/** The outgoing request, or the error before it is sent. */
const sent = (dialect: Dialect, request: ChatRequest, upstream: string): Result.Result<Sent, ProviderError> => {
  const out: Array<string> = []
  const leftOut: Array<string> = []
  const transport = replay({ chunks: [], onSend: (path, body) => void out.push(`${path} ${body}`) })
  const provider = dialect.make(config(), transport)
  const { api = "chat" } = dialect
  const call: ChatCall = {
    request,
    offer: { ...offer, upstream, api },
    leftOut: (members) => void leftOut.push(...members)
  }
  const attempt = request.stream === true ? Effect.scoped(provider.chatStream(call)) : provider.chat(call)
  const exit = Effect.runSyncExit(Effect.flip(Effect.asVoid<unknown, ProviderError, never>(attempt)))
  const [first] = out
  if (first !== undefined) return Result.succeed({ body: first, leftOut })
  return Exit.isSuccess(exit) ? Result.fail(exit.value) : assert.fail(`${dialect.name} neither sent nor refused`)
}

const named = (dialect: Dialect, member: ParameterName): string =>
  member === "model" ? `${dialect.upstream}-other` : dialect.upstream

describe.each(dialects)("the table of $name", (dialect) => {
  it("names every member of a request", () => {
    assert.sameMembers(Object.keys(dialect.parameters), members.slice())
    assert.includeMembers(members.slice(), Object.keys(ChatRequest.schema.fields))
  })

  it.each(members.map((member) => [member, dialect.parameters[member]] as const))("%s is %s", (member, treatment) => {
    // Stream options have no effect without a stream.
    const plain = member === "stream_options" ? { ...base, stream: true } : base
    const before = Result.getOrThrow(sent(dialect, plain, dialect.upstream)).body
    const after = sent(dialect, { ...plain, [member]: samples[member] } as ChatRequest, named(dialect, member))
    if (treatment === "refused") {
      assert.isTrue(Result.isFailure(after))
      if (Result.isFailure(after)) assert.deepInclude(after.failure.reason, { _tag: "Unsupported", param: member })
      return
    }
    const { body, leftOut } = Result.getOrThrow(after)
    if (treatment === "mapped") assert.notStrictEqual(body, before)
    else assert.strictEqual(body, before)
    // What a provider does not get is told.
    assert.deepStrictEqual(leftOut, treatment === "dropped" ? [member] : [])
  })

  it("is the one that docs/reference/dialects.md shows", () => {
    const lines = readFileSync(new URL("../../docs/reference/dialects.md", import.meta.url), "utf8").split("\n")
    const cells = (line: string) => line.split("|").map((cell) => cell.trim())
    const header = lines.find((line) => line.startsWith("| Member |")) ?? ""
    const column = cells(header).indexOf(dialect.name)
    assert.isAbove(column, 0)
    for (const member of members) {
      const line = lines.find((each) => each.startsWith(`| \`${member}\` |`))
      assert.isDefined(line, member)
      const cell = cells(line ?? "")[column] ?? ""
      assert.strictEqual(cell.split(/[,:; ]/)[0], dialect.parameters[member], member)
    }
  })
})
