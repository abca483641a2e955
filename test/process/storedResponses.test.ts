/**
 * Stored responses of a real process, with OpenAI's library: a conversation over providers of two
 * dialects and after a fallback, a kill in its middle, and no word of it in any file.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import OpenAI from "openai"
import { startAimock } from "../support/aimock.ts"
import { promptMarker, startGateway, temporaryDirectory } from "../support/Gateway.ts"

const usage = { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 }
const turns = [
  { asked: `${promptMarker} first`, answered: "words-of-the-first-answer" },
  { asked: `${promptMarker} second`, answered: "words-of-the-second-answer" },
  { asked: `${promptMarker} third`, answered: "words-of-the-third-answer" }
] as const
const [first, second, third] = turns
const fixtures = turns.map(({ answered, asked }) => ({
  match: { userMessage: asked },
  response: { content: answered, usage }
}))

const model = "test/chat"
const pricing = { prompt: 2, completion: 8 }
const offer = (upstream: string, price = pricing) => [
  { id: model, upstream, pricing: price, max_completion_tokens: 1_000 }
]

/** A provider per dialect, and one that does not answer. */
const config = (origin: string) => ({
  providers: [
    { slug: "dead", dialect: "openai", base_url: "http://127.0.0.1:1/v1", api_key: "sk-dead", models: offer("chat") },
    { slug: "open", dialect: "openai", base_url: `${origin}/v1`, api_key: "sk-open", models: offer("chat-2026") },
    { slug: "anth", dialect: "anthropic", base_url: origin, api_key: "sk-anth", models: offer("claude-sonnet-4-5") }
  ],
  cache: { enabled: false },
  responses: { retention_days: 2 }
})

const status = (call: () => PromiseLike<unknown>) =>
  Effect.promise(async () => {
    try {
      await call()
    } catch (error) {
      if (error instanceof OpenAI.APIError) return [error.status, error.code]
    }
    return []
  })

it.live(
  "a conversation goes on over providers of two dialects, a fallback and a kill, and is written nowhere in clear",
  () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const aimock = yield* startAimock(fixtures)
      const options = { directory, config: config(new URL(aimock.url).origin) }
      const libraryOf = (url: string, apiKey: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 })
      const ask = (openai: OpenAI, input: string, provider: unknown, previous?: string) =>
        Effect.promise(async () => {
          const request: OpenAI.Responses.ResponseCreateParamsNonStreaming & { readonly provider: unknown } = {
            model,
            input,
            provider,
            ...(previous === undefined ? {} : { previous_response_id: previous })
          }
          const { data, response } = await openai.responses.create(request).withResponse()
          return { response: data, provider: response.headers.get("x-tollgate-provider") }
        })
      const lastPrompt = Effect.map(aimock.journal, (journal) => JSON.stringify(journal.at(-1)?.body))

      const told = yield* Effect.scoped(
        Effect.gen(function* () {
          const gateway = yield* startGateway(options)
          const { key } = yield* gateway.issueKey()
          const openai = libraryOf(gateway.url, key)
          const one = yield* ask(openai, first.asked, { only: ["anth"] })
          assert.deepStrictEqual(
            [one.response.output_text, "store" in one.response && one.response.store],
            [first.answered, true]
          )
          const two = yield* ask(openai, second.asked, { only: ["open"] }, one.response.id)
          assert.deepStrictEqual([two.provider, two.response.output_text], ["open", second.answered])
          const heard = yield* lastPrompt
          for (const text of [first.asked, first.answered, second.asked]) assert.include(heard, text)
          yield* gateway.kill
          return { key, one: one.response, two: two.response }
        })
      )

      yield* Effect.scoped(
        Effect.gen(function* () {
          const gateway = yield* startGateway(options)
          const openai = libraryOf(gateway.url, told.key)
          const three = yield* ask(openai, third.asked, { order: ["dead", "anth"] }, told.two.id)
          assert.deepStrictEqual([three.provider, three.response.output_text], ["anth", third.answered])
          const heard = yield* lastPrompt
          for (const { answered, asked } of [first, second]) {
            assert.include(heard, asked)
            assert.include(heard, answered)
          }

          const again = yield* Effect.promise(() => openai.responses.retrieve(told.two.id))
          assert.deepStrictEqual(again, told.two)
          const items = yield* Effect.promise(async () => {
            const all = []
            const pages = openai.responses.inputItems.list(three.response.id, { order: "asc", limit: 2 })
            for await (const item of pages) all.push(item)
            return all
          })
          assert.deepStrictEqual(
            items.map((item) => (item.type === "message" ? item.role : item.type)),
            ["user", "assistant", "user", "assistant", "user"]
          )
          assert.lengthOf(new Set(items.map(({ id }) => id)), 5)

          const other = libraryOf(gateway.url, (yield* gateway.issueKey()).key)
          assert.deepStrictEqual(yield* status(() => other.responses.retrieve(told.two.id)), [
            404,
            "response_not_found"
          ])
          assert.deepStrictEqual(
            yield* status(() => other.responses.create({ model, input: "x", previous_response_id: told.two.id })),
            [400, "previous_response_not_found"]
          )
          yield* Effect.promise(() => openai.responses.delete(told.one.id))
          assert.deepStrictEqual(yield* status(() => openai.responses.retrieve(told.one.id)), [
            404,
            "response_not_found"
          ])
          yield* gateway.stop
        })
      )

      const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
      assert.isAbove(files.length, 10)
      for (const { name, parentPath } of files) {
        const bytes = readFileSync(join(parentPath, name))
        for (const { answered, asked } of turns) assert.isFalse(bytes.includes(asked) || bytes.includes(answered), name)
      }
    }).pipe(Effect.scoped),
  120_000
)
