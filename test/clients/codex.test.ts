/**
 * The Codex CLI against the gateway, in front of a provider of each dialect: it finishes tasks
 * through the tools that it offers, and understands the gateway's errors.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { fileURLToPath } from "node:url"
import { startAimock } from "../support/aimock.ts"
import { type Gateway, startGateway } from "../support/Gateway.ts"
import { freshDatabase } from "../support/Postgres.ts"
import {
  DONE,
  ENCRYPTED,
  type ResponsesProvider,
  startResponsesProvider,
  type Task,
  taskFixtures
} from "./agentProvider.ts"
import { exhausted, prompt } from "./Clients.ts"
import { type CodexOptions, isDemanded, isInstalled, makeCodex } from "./Codex.ts"
import { dialects, providerEntry } from "./Deployment.ts"
import { overflow, overflowFixtures } from "./fixtures.ts"

const patch = "*** Begin Patch\n*** Update File: notes.txt\n@@\n-old\n+new\n*** End Patch\n"
const edit: Task = {
  prompt: "Replace old by new in notes.txt",
  calls: {
    apply_patch: patch,
    exec: `await tools.apply_patch(${JSON.stringify(patch)})`,
    exec_command: { cmd: "echo new > notes.txt" }
  },
  ends: ["Updated the following files", "Script completed", "exited with code 0"]
}
const note: Task = {
  prompt: "Take a note",
  calls: { mcp__notes__write_note: { text: "hello" }, tool_search: { query: "note" } },
  ends: ["noted: hello"]
}
const compact: Task = { prompt: "CONTEXT CHECKPOINT COMPACTION", calls: {}, ends: [] }
const tasks = [edit, note]

/**
 * What Codex offers depends on the model's name: `agent` is unknown to it and gets functions and
 * namespaces; `gpt-5.5` gets custom tools and a search for others; `gpt-6.1-sol` gets its tools as
 * an item, with a custom tool in a namespace.
 */
const names = ["agent", "gpt-5.5", "gpt-6.1-sol"] as const

class Agents extends Context.Service<
  Agents,
  { readonly gateway: Gateway; readonly key: string; readonly responses: ResponsesProvider }
>()("tollgate/test/Agents") {
  static readonly layer = Layer.effect(
    Agents,
    Effect.gen(function* () {
      const summary = { match: { userMessage: compact.prompt }, response: { content: "The user wants help." } }
      const rest = { match: { userMessage: "Go on" }, response: { content: DONE } }
      const aimock = yield* startAimock([...taskFixtures(tasks), summary, rest, ...overflowFixtures])
      const responses = yield* startResponsesProvider(tasks)
      const pricing = { prompt: 2, completion: 8 }
      const providers = dialects.map((dialect) => {
        const { base_url, upstream, ...entry } = providerEntry(dialect, new URL(aimock.url).origin)
        return {
          ...entry,
          base_url: dialect === "responses" ? responses.url : base_url,
          models: names.map((name) => ({
            id: `${dialect}/${name}`,
            upstream,
            pricing,
            context_length: 100_000,
            max_completion_tokens: 1_000
          }))
        }
      })
      const small = {
        slug: "small",
        dialect: "mock",
        models: [{ id: "small/agent", upstream: "echo", pricing, context_length: 500, max_completion_tokens: 100 }]
      }
      const gateway = yield* startGateway({
        env: { DATABASE_URL: Redacted.value(yield* freshDatabase) },
        config: {
          providers: [...providers, small],
          tiers: { free: { requests_per_minute: 30, concurrency: 30 } },
          cache: { enabled: false }
        }
      })
      return Agents.of({ gateway, key: (yield* gateway.issueKey()).key, responses })
    })
  )
}

const codex = Effect.fnUntraced(function* (options: Partial<CodexOptions> & Pick<CodexOptions, "model">) {
  const { gateway, key } = yield* Agents
  return yield* makeCodex({ gatewayUrl: gateway.url, key, ...options })
})

describe.skipIf(!isDemanded && !isInstalled)("codex exec", () => {
  layer(Agents.layer, { excludeTestServices: true, timeout: 120_000 })("@openai/codex: Responses", (it) => {
    const each = dialects.flatMap((dialect) => names.map((name) => ({ dialect, name })))

    it.effect.each(each)("tools: edits a file: $dialect/$name", ({ dialect, name }) =>
      Effect.gen(function* () {
        const { exec, read, write } = yield* codex({ model: `${dialect}/${name}` })
        write("notes.txt", "old\n")
        const { answer, code, log } = yield* exec(prompt(edit.prompt))
        assert.deepStrictEqual({ code, answer }, { code: 0, answer: DONE }, log)
        assert.strictEqual(read("notes.txt"), "new\n")
      })
    )

    const searching = dialects.flatMap((dialect) => (["agent", "gpt-5.5"] as const).map((name) => ({ dialect, name })))

    it.effect.each(searching)("tools: calls one of an MCP server: $dialect/$name", ({ dialect, name }) =>
      Effect.gen(function* () {
        const mcpServer = fileURLToPath(new URL("./mcpServer.ts", import.meta.url))
        const { exec } = yield* codex({ model: `${dialect}/${name}`, mcpServer })
        const { answer, code, log } = yield* exec(prompt(note.prompt))
        assert.deepStrictEqual({ code, answer }, { code: 0, answer: DONE }, log)
        assert.match(log, /notes\/write_note \(completed\)/)
      })
    )

    it.effect("reasoning: goes back encrypted, as it came", () =>
      Effect.gen(function* () {
        const { responses } = yield* Agents
        const before = responses.bodies.length
        const { exec, write } = yield* codex({ model: "responses/gpt-5.5" })
        write("notes.txt", "old\n")
        yield* exec(prompt(edit.prompt))
        const [, second] = responses.bodies.slice(before)
        const seals = JSON.stringify(second).match(/"encrypted_content":"[^"]*"/g)
        assert.deepStrictEqual(seals, [`"encrypted_content":"${ENCRYPTED}"`])
      })
    )

    const full = ["openai", "anthropic", "gemini", "bedrock", "small"] as const
    it.effect.each(full)("errors: stops where the context is full, and compacts when it goes on: %s", (dialect) =>
      Effect.gen(function* () {
        const { exec, resume } = yield* codex({ model: `${dialect}/agent` })
        const { code, log } = yield* exec(prompt(overflow.prompt))
        assert.strictEqual(code, 1, log)
        assert.match(log, /ran out of room in the model's context window/)
        assert.notMatch(log, /Reconnecting/)
        if (dialect === "small") return
        const after = yield* resume(prompt("Go on"))
        assert.deepStrictEqual({ code: after.code, answer: after.answer }, { code: 0, answer: DONE }, after.log)
        assert.match(after.log, /context compacted/)
      })
    )

    it.effect("errors: stops at once where the budget has no room", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Agents
        const { key } = yield* gateway.issueKey({ monthly_budget_usd: 0.00001 })
        const { exec } = yield* codex({ model: "openai/agent", key })
        const { code, log } = yield* exec(prompt(edit.prompt))
        assert.strictEqual(code, 1, log)
        assert.match(log, /Quota exceeded/)
        assert.notMatch(log, /Reconnecting/)
      })
    )

    it.effect("errors: waits where the key is over its rate, and finishes", () =>
      Effect.gen(function* () {
        const { gateway } = yield* Agents
        const { key } = yield* gateway.issueKey({ tier: "free" })
        yield* exhausted(gateway, key, "small/agent")
        const { exec, read, write } = yield* codex({ model: "openai/agent", key })
        write("notes.txt", "old\n")
        const { answer, code, log } = yield* exec(prompt(edit.prompt))
        assert.deepStrictEqual({ code, answer }, { code: 0, answer: DONE }, log)
        assert.match(log, /Reconnecting/)
        assert.strictEqual(read("notes.txt"), "new\n")
      })
    )
  })
})
