/** `kill -9` between accepting and delivering an event: the next process delivers it, by its id. */
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { eventually, type GatewayOptions, startGateway, temporaryDirectory } from "../support/Gateway.ts"
import { postgresEnv } from "./servers.ts"

/** Starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 180_000 })

const secret = "a secret that both sides know"

interface Received {
  readonly id: string
  readonly body: string
}

/** An address that refuses what is posted to it until it is told to take it. */
const receiver = Effect.gen(function* () {
  const state = { status: 503, refused: new Array<Received>(), taken: new Array<Received>() }
  const server = createServer((request, response) => {
    let body = ""
    request.on("data", (chunk: Buffer) => (body += chunk.toString()))
    request.on("end", () => {
      const received = { id: String(request.headers["x-tollgate-delivery"]), body }
      const list = state.status === 204 ? state.taken : state.refused
      list.push(received)
      response.writeHead(state.status).end()
    })
  })
  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
    }),
    () =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )
  return { state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
})

const until = (condition: () => boolean, what: string) =>
  eventually(Effect.filterOrFail(Effect.sync(condition), Boolean), 60_000, what)

const survives = Effect.fnUntraced(function* (options: GatewayOptions) {
  const { state, url } = yield* receiver
  const started = { ...options, config: { webhooks: [{ url, secret, events: ["key.created"] }] }, secrets: [secret] }
  const first = yield* startGateway(started)
  const { id } = yield* first.issueKey()
  const about = (received: Received) => received.body.includes(id)
  yield* until(() => state.refused.some(about), "an attempt that was refused")
  assert.deepStrictEqual(yield* first.kill, { code: null, signal: "SIGKILL" })

  state.status = 204
  yield* startGateway(started)
  yield* until(() => state.taken.some(about), "the delivery")
  const [attempt, delivery] = [state.refused.find(about), state.taken.find(about)]
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
