/** The rows of the audit trail: when they are written, sampled, kept back, lost and deleted. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { CurrentActor } from "../../../src/domain/Actor.ts"
import { type AuditEvent } from "../../../src/domain/Audit.ts"
import { gatewayError, NotFound } from "../../../src/domain/Errors.ts"
import { Ids } from "../../../src/domain/Ids.ts"
import { AuditLog } from "../../../src/gateway/telemetry/Audit.ts"
import * as AuditWriter from "../../../src/gateway/telemetry/AuditWriter.ts"
import * as AuditMemory from "../../../src/store/audit/AuditMemory.ts"
import * as RefusedCredentialMemory from "../../../src/store/audit/RefusedCredentialMemory.ts"
import { RefusedCredentialStore } from "../../../src/store/audit/RefusedCredentialStore.ts"
import { AuditStore } from "../../../src/store/audit/AuditStore.ts"
import { StoreError } from "../../../src/store/StoreError.ts"

const written = (isAway: () => boolean = () => false) =>
  Effect.gen(function* () {
    const rows: Array<AuditEvent> = []
    const store = Layer.mock(AuditStore, {
      add: (events) =>
        isAway()
          ? Effect.fail(new StoreError({ dependency: "database", cause: null }))
          : Effect.sync(() => void rows.push(...events))
    })
    const context = yield* Layer.build(
      AuditWriter.layer.pipe(Layer.provide(Layer.mergeAll(store, RefusedCredentialMemory.layer, Ids.layerSequence)))
    )
    return { rows, ...Context.get(context, AuditLog) }
  })

const done = { action: "key.change", outcome: "done", target: "key_a" } as const

it.effect("a row is written before its change is answered, and an interruption cannot come between", () =>
  Effect.gen(function* () {
    const { audited, rows } = yield* written()
    const change = Effect.as(Effect.sleep("1 second"), "changed")
    const fiber = yield* Effect.forkChild(audited("key.change", "key_a", change))
    yield* TestClock.adjust("500 millis")
    const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber))
    yield* TestClock.adjust("500 millis")
    yield* Fiber.await(interrupting)
    assert.deepStrictEqual(
      rows.map(({ action, outcome, target }) => [action, outcome, target]),
      [["key.change", "done", "key_a"]]
    )
  })
)

it.effect("every change has a row; a flood of alike refusals has six a minute, and their counts are exact", () =>
  Effect.gen(function* () {
    const { audit, audited, rows } = yield* written()
    for (let at = 0; at < 20; at++) yield* audit(done)
    assert.lengthOf(rows, 20)
    const refused = Effect.ignore(
      audited("key.revoke", "any text", Effect.fail(gatewayError(new NotFound({ what: "key", id: "any text" }))))
    )
    for (let at = 0; at < 1_000; at++) yield* refused
    assert.lengthOf(rows, 25)
    yield* TestClock.adjust("61 seconds")
    assert.deepStrictEqual(
      rows.slice(20).map(({ count, outcome, target }) => [outcome, target, count]),
      [...Array.from({ length: 5 }, () => ["refused", null, 1]), ["refused", null, 995]]
    )
  })
)

it.effect("while the database is away rows wait within a bound, and the log tells how many were lost", () => {
  const lines: Array<unknown> = []
  return Effect.gen(function* () {
    let isAway = true
    const { audit, rows } = yield* written(() => isAway)
    for (let at = 0; at < 1_003; at++) yield* audit({ ...done, target: `key_${at}` })
    yield* TestClock.adjust("3 seconds")
    assert.deepStrictEqual(rows, [])
    isAway = false
    yield* TestClock.adjust("1 second")
    assert.lengthOf(rows, 1_000)
    assert.strictEqual(rows[0]?.target, "key_0")
    assert.include(lines, "3 row(s) of the audit trail were not stored; the log has their lines")
  }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push([message].flat()[0]))])))
})

it.effect("events are deleted at their age, once an hour", () =>
  Effect.gen(function* () {
    const store = yield* AuditStore
    const { audit } = yield* AuditLog
    yield* audit(done)
    yield* TestClock.adjust("1 day")
    yield* audit(done)
    const left = Effect.map(store.list({ limit: 10, cursor: null }), ({ length }) => length)
    assert.strictEqual(yield* left, 2)
    yield* Layer.build(AuditWriter.layerDeleting({ retentionDays: 1 }))
    yield* TestClock.adjust("1 hour")
    assert.strictEqual(yield* left, 1)
    yield* TestClock.adjust("1 day")
    assert.strictEqual(yield* left, 0)
  }).pipe(
    Effect.provide(
      Layer.provideMerge(
        AuditWriter.layer,
        Layer.mergeAll(AuditMemory.layer, RefusedCredentialMemory.layer, Ids.layerSequence)
      )
    )
  )
)

it.effect("a flood of addresses takes a bounded number of rows a minute, and every refusal is counted", () =>
  Effect.gen(function* () {
    const { auditRefusedCredential } = yield* AuditLog
    const refuse = (address: string) =>
      auditRefusedCredential("api_key")(Effect.fail(gatewayError(new NotFound({ what: "key", id: "" })))).pipe(
        Effect.ignore,
        Effect.provideService(CurrentActor, { kind: "nobody", id: null, address, requestId: null })
      )
    for (let at = 0; at < 1_000; at++) yield* refuse(`2001:db8::${at}`)
    yield* TestClock.adjust("1 second")
    const store = yield* RefusedCredentialStore
    const rows = yield* store.list({ fromMs: 0, toMs: 60_000, limit: 1_000 })
    assert.lengthOf(rows, 201)
    assert.strictEqual(rows.find(({ address }) => address === "others")?.count, 800)
  }).pipe(
    Effect.provide(
      Layer.provideMerge(
        AuditWriter.layer,
        Layer.mergeAll(AuditMemory.layer, RefusedCredentialMemory.layer, Ids.layerSequence)
      )
    )
  )
)
