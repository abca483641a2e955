/** `kill -9` between accepting and delivering an event: the next process delivers it, by its id. */
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { eventually, type GatewayOptions, startGateway, temporaryDirectory } from "../support/Gateway.ts"
import { hookReceiver, type Received } from "../support/hookReceiver.ts"
import { postgresEnv } from "./servers.ts"

/** Starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 180_000 })

const secret = "a secret that both sides know"

const until = (condition: () => boolean, what: string) =>
  eventually(Effect.filterOrFail(Effect.sync(condition), Boolean), 60_000, what)

const survives = Effect.fnUntraced(function* (options: GatewayOptions) {
  const { received, state, url } = yield* hookReceiver
  // Refuses what is posted to it until it is told to take it.
  state.status = 503
  const started = { ...options, config: { webhooks: [{ url, secret, events: ["key.created"] }] }, secrets: [secret] }
  const first = yield* startGateway(started)
  const { id } = yield* first.issueKey()
  const about = (status: number) => (one: Received) => one.status === status && one.body.includes(id)
  yield* until(() => received.some(about(503)), "an attempt that was refused")
  assert.deepStrictEqual(yield* first.kill, { code: null, signal: "SIGKILL" })

  state.status = 204
  yield* startGateway(started)
  yield* until(() => received.some(about(204)), "the delivery")
  const [attempt, delivery] = [received.find(about(503)), received.find(about(204))]
  assert.strictEqual(delivery?.id, attempt?.id)
  assert.strictEqual(delivery?.body, attempt?.body)
  assert.strictEqual((JSON.parse(delivery?.body ?? "") as { readonly id: string }).id, delivery?.id)
})

describe("kill -9 before a webhook took an event", () => {
  it.live("on the embedded database", () =>
    Effect.gen(function* () {
      yield* survives({ directory: yield* temporaryDirectory })
    })
  )

  it.live("on Postgres", () =>
    Effect.gen(function* () {
      yield* survives({ directory: yield* temporaryDirectory, env: yield* postgresEnv })
    })
  )
})
