/** What providers of each dialect receive of Claude Code's requests. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { type MessagesRequest } from "../../../src/api/Messages.ts"
import { type ModelOffer, type ProviderConfig } from "../../../src/domain/Catalog.ts"
import { translated } from "../../../src/http/messages/Request.ts"
import { makeAnthropic } from "../../../src/providers/anthropic/Anthropic.ts"
import { makeBedrock } from "../../../src/providers/bedrock/Bedrock.ts"
import { makeGemini } from "../../../src/providers/gemini/Gemini.ts"
import { makeOpenAi } from "../../../src/providers/openai/OpenAi.ts"
import { type Provider } from "../../../src/providers/Provider.ts"
import { makeResponses } from "../../../src/providers/responses/Responses.ts"
import { type Transport } from "../../../src/providers/transport/Transport.ts"
import { config, offer, replay } from "../../providers/replayedTransport.ts"
import { firstTurn, laterTurn } from "./claudeCode.ts"

interface Dialect {
  readonly make: (config: ProviderConfig, transport: Transport["Service"]) => Provider
  readonly upstream: string
  readonly api?: ModelOffer["api"]
}

const dialects: Readonly<Record<string, Dialect>> = {
  openai: { make: makeOpenAi, upstream: "small-2026" },
  responses: { make: makeResponses, upstream: "small-2026", api: "responses" },
  anthropic: { make: makeAnthropic, upstream: "claude-sonnet-4-5" },
  gemini: { make: makeGemini, upstream: "gemini-3.5-flash-lite" },
  bedrock: { make: makeBedrock, upstream: "anthropic.claude-sonnet-4-5-20250929-v1:0" }
}

/** The body that a provider gets. */
const sent = ({ api = "chat", make, upstream }: Dialect, body: MessagesRequest): string => {
  const bodies: Array<string> = []
  const transport = replay({ chunks: [], onSend: (_, text) => void bodies.push(text) })
  const provider = make(config(), transport)
  const { request } = Result.getOrThrow(translated(body))
  Effect.runSyncExit(
    Effect.scoped(provider.chatStream({ request, offer: { ...offer, upstream, api }, leftOut: () => undefined }))
  )
  return bodies[0] ?? assert.fail("nothing was sent")
}

interface Entry {
  readonly name: string
  readonly function?: Entry
  readonly toolSpec?: Entry
  readonly functionDeclarations?: ReadonlyArray<Entry>
}

/** The names of the tools, wherever the dialect has them. */
const toolNames = (text: string): ReadonlyArray<string> => {
  const { toolConfig, tools = [] } = JSON.parse(text)
  const entries: ReadonlyArray<Entry> = toolConfig?.tools ?? tools
  return entries
    .flatMap((entry) => entry.functionDeclarations ?? [entry.function ?? entry.toolSpec ?? entry])
    .map(({ name }) => name)
}

const own = (firstTurn.tools ?? []).map(({ name }) => String(name)).filter((name) => name !== "DeferredToolPlaceholder")

describe.each(Object.entries(dialects))("%s", (_, dialect) => {
  it("gets the instructions and the tools, and nothing that is for Anthropic alone", () => {
    const text = sent(dialect, firstTurn)
    assert.deepStrictEqual(toolNames(text), own)
    for (const kept of ["You are a Claude agent", "toward their goals", "# Environment", "Add 1 and 2"]) {
      assert.include(text, kept)
    }
    for (const gone of [
      "x-anthropic-billing-header",
      "context_management",
      "clear_thinking",
      "DeferredToolPlaceholder",
      "defer_loading",
      "omitted",
      "device_id",
      "claude-opus-5-5"
    ]) {
      assert.notInclude(text, gone)
    }
  })

  it("gets a tool once it is loaded, its calls, and the picture that was read", () => {
    const text = sent(dialect, laterTurn)
    assert.deepStrictEqual(toolNames(text), [...own, "mcp__demo__add"])
    for (const kept of [
      "The tool mcp__demo__add is available.",
      "Tool loaded.",
      "select:mcp__demo__add",
      "iVBORw0KGgo"
    ]) {
      assert.include(text, kept)
    }
    assert.notInclude(text, "tool_reference")
  })
})

it("names what is left out, and shortens the user's name to what providers take", () => {
  const { dropped, request } = Result.getOrThrow(translated(firstTurn))
  assert.deepStrictEqual(dropped, ["context_management", "messages.output_config"])
  assert.match(String(request["user"]), /^[0-9a-f]{64}$/)
  assert.deepStrictEqual(request["reasoning"], { effort: "medium" })
  const again = Result.getOrThrow(translated(laterTurn))
  assert.strictEqual(again.request["user"], request["user"])
})

it("adds and removes tools in the middle of a conversation", () => {
  const system = (...content: ReadonlyArray<Record<string, unknown>>) => ({ role: "system" as const, content })
  const added = (name: string) => ({
    type: "tool_addition",
    tool: { type: "tool_definition", definition: { name, input_schema: { type: "object" } } }
  })
  const removed = (name: string) => ({ type: "tool_removal", tool: { type: "tool_reference", name } })
  const { request } = Result.getOrThrow(
    translated({
      ...firstTurn,
      tools: [
        { name: "Read", input_schema: {} },
        { name: "Write", input_schema: {} }
      ],
      messages: [
        { role: "user", content: "Hi" },
        system(added("Late"), removed("Write")),
        system(added("Brief")),
        system(removed("Brief"))
      ]
    })
  )
  const names = (request.tools as ReadonlyArray<{ readonly function: { readonly name: string } }>).map(
    ({ function: { name } }) => name
  )
  assert.deepStrictEqual(names, ["Read", "Late"])
  assert.include(JSON.stringify(request.messages), "The tool Write is no longer available.")
})
