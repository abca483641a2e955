/** Dead letters that an admin sends again reach a real receiver, signed anew, once. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { createHmac } from "node:crypto"
import { eventTypes } from "../../src/domain/Events.ts"
import { Ids } from "../../src/domain/Ids.ts"
import * as AuditWriter from "../../src/gateway/telemetry/AuditWriter.ts"
import { WebhookAdmin } from "../../src/gateway/admin/WebhookAdmin.ts"
import { Outbound } from "../../src/providers/transport/Outbound.ts"
import * as AuditMemory from "../../src/store/audit/AuditMemory.ts"
import * as RefusedCredentialMemory from "../../src/store/audit/RefusedCredentialMemory.ts"
import { AuditStore } from "../../src/store/audit/AuditStore.ts"
import * as DeadLetterMemory from "../../src/store/webhooks/DeadLetterMemory.ts"
import { type DeadLetter, DeadLetterStore } from "../../src/store/webhooks/DeadLetterStore.ts"
import { DeliveryQueue } from "../../src/store/webhooks/DeliveryQueue.ts"
import * as Webhooks from "../../src/webhooks/Webhooks.ts"
import { eventually } from "../support/Gateway.ts"
import { hookReceiver } from "../support/hookReceiver.ts"

const secret = "a secret of both sides"

const letter = (number: number, url: string): DeadLetter => ({
  id: `dlv_${String(number).padStart(32, "0")}`,
  eventId: `evt_${number}`,
  type: "key.created",
  url,
  body: `{"number":${number}}`,
  attempts: 11,
  lastError: "status 500",
  createdAtMs: 0,
  failedAtMs: 1_000,
  retriedAtMs: null
})

it.live("a retried dead letter is posted with its own event id and a new signature, and only once", () =>
  Effect.gen(function* () {
    const { received, url } = yield* hookReceiver
    const hooks = [{ url, secret: Redacted.make(secret), events: eventTypes }]
    const stores = Layer.mergeAll(
      DeadLetterMemory.layer,
      DeliveryQueue.layerMemory(),
      AuditMemory.layer,
      RefusedCredentialMemory.layer,
      Ids.layer
    )
    const services = Layer.mergeAll(
      Layer.provide(WebhookAdmin.layer({ webhooks: hooks }), AuditWriter.layer),
      Layer.provide(Webhooks.layer(hooks), Outbound.layer)
    ).pipe(Layer.provideMerge(stores))
    yield* Effect.gen(function* () {
      const letters = yield* DeadLetterStore
      const webhooks = yield* WebhookAdmin
      const gone = "https://gone.example.com/hook"
      for (const number of [1, 2, 3]) yield* letters.add(letter(number, url))
      yield* letters.add(letter(4, gone))

      const first = letter(1, url)
      const retried = yield* webhooks.retry(first.id)
      assert.isNotNull(retried.retriedAtMs)
      assert.deepStrictEqual(yield* webhooks.retry(first.id), retried)
      const arrived = (count: number) =>
        eventually(
          Effect.filterOrFail(
            Effect.sync(() => received.length),
            (length) => length === count
          ),
          20_000,
          "the deliveries"
        )
      yield* arrived(1)
      const { body, headers } = received[0] ?? assert.fail("nothing was received")
      assert.strictEqual(body, first.body)
      assert.strictEqual(headers["x-tollgate-delivery"], "evt_1")
      const timestamp = String(headers["x-tollgate-timestamp"])
      assert.isAtLeast(Number(timestamp), Math.floor((retried.retriedAtMs ?? 0) / 1000))
      const signature = createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")
      assert.strictEqual(headers["x-tollgate-signature"], `v1=${signature}`)

      const refused = yield* Effect.flip(webhooks.retry(letter(4, gone).id))
      assert.deepInclude(refused.reason, { _tag: "InvalidRequest", code: "webhook_not_configured" })
      const unknown = yield* Effect.flip(webhooks.retry(letter(9, url).id))
      assert.deepInclude(unknown.reason, { _tag: "NotFound", what: "dead_letter" })

      assert.deepStrictEqual(yield* webhooks.retryAll(null), { retried: 2, left: 1 })
      yield* arrived(3)
      assert.sameMembers(
        received.map(({ headers: { "x-tollgate-delivery": id } }) => id),
        ["evt_1", "evt_2", "evt_3"]
      )
      const { letters: left } = yield* webhooks.deadLetters({ limit: 10, cursor: null })
      assert.deepStrictEqual(left, [letter(4, gone)])

      const trail = yield* Effect.flatMap(AuditStore, (store) => store.list({ limit: 10, cursor: null }))
      assert.sameDeepMembers(
        trail.map(({ action, outcome, target }) => [action, outcome, target]),
        [
          ["webhook.retry", "done", first.id],
          ["webhook.retry", "done", first.id],
          ["webhook.retry", "refused", letter(4, gone).id],
          ["webhook.retry", "refused", letter(9, url).id],
          ["webhook.retry", "done", null]
        ]
      )
    }).pipe(Effect.provide(services))
  }).pipe(Effect.scoped)
)

it.effect("a retried event that fails again is the same dead letter again, and can be retried again", () =>
  Effect.gen(function* () {
    const letters = yield* DeadLetterStore
    const queue = yield* DeliveryQueue
    const webhooks = yield* WebhookAdmin
    const { id, url } = letter(1, "https://hooks.example.com/a")
    yield* letters.add(letter(1, url))
    yield* webhooks.retry(id)
    const again = { ...letter(1, url), failedAtMs: 2_000 }
    yield* letters.add(again)
    yield* webhooks.retry(id)
    const taken: Array<unknown> = []
    const take = queue.take(url, ({ retried }) => Effect.sync(() => void taken.push(retried)))
    yield* Effect.andThen(take, take)
    assert.deepStrictEqual(taken, [
      { letterId: id, failedAtMs: 1_000 },
      { letterId: id, failedAtMs: 2_000 }
    ])
  }).pipe(
    Effect.provide(
      Layer.provideMerge(
        WebhookAdmin.layer({ webhooks: [{ url: "https://hooks.example.com/a", events: eventTypes }] }),
        Layer.mergeAll(DeadLetterMemory.layer, DeliveryQueue.layerMemory())
      )
    )
  )
)
