import { assert, it } from "@effect/vitest"
import { Effect, Exit, Redacted } from "effect"
import { sealOf as sealFor } from "../../../src/gateway/idempotency/SealedReply.ts"

const sealOf = (keyId: string, name: string, secret: Redacted.Redacted, request: string) =>
  Effect.runSync(sealFor(keyId, name, secret, (hash) => Effect.sync(() => void hash.update(request))))

const secret = Redacted.make("tg-0123456789abcdef-secret")
const reply = `{"text":"${"words that nobody may read ".repeat(80)}"}`

it.effect("a sealed reply opens with the same secret and shows nothing of its content", () =>
  Effect.gen(function* () {
    const sealed = yield* sealOf("key_1", "order-7", secret, "body").close(reply)
    assert.strictEqual(yield* sealOf("key_1", "order-7", secret, "body").open(sealed), reply)
    assert.isBelow(sealed.length, reply.length / 4)
    assert.notInclude(Buffer.from(sealed).toString("latin1"), "words")
    const again = yield* sealOf("key_1", "order-7", secret, "body").close(reply)
    assert.notDeepEqual(again, sealed)
  })
)

it("an id depends on the key; a fingerprint depends on the secret and the name", () => {
  const { fingerprint, id } = sealOf("key_1", "order-7", secret, "body")
  const other = Redacted.make("tg-0123456789abcdef-other")
  assert.match(id, /^[0-9a-f]{64}$/)
  assert.strictEqual(sealOf("key_1", "order-7", other, "body").id, id)
  assert.notStrictEqual(sealOf("key_2", "order-7", secret, "body").id, id)
  const prints = [
    fingerprint,
    sealOf("key_1", "order-7", secret, "body 2").fingerprint,
    sealOf("key_1", "order-7", other, "body").fingerprint,
    sealOf("key_1", "order-8", secret, "body").fingerprint
  ]
  assert.strictEqual(new Set(prints).size, 4)
})

it.effect("a changed reply, or one sealed with another secret, does not open", () =>
  Effect.gen(function* () {
    const seal = sealOf("key_1", "order-7", secret, "body")
    const sealed = yield* seal.close(reply)
    const tampered = Uint8Array.from(sealed)
    tampered[20] = (tampered[20] ?? 0) ^ 1
    const others = [
      seal.open(tampered),
      seal.open(new Uint8Array(40)),
      sealOf("key_1", "order-7", Redacted.make("tg-other"), "body").open(sealed),
      sealOf("key_1", "order-7", secret, "body 2").open(sealed)
    ]
    for (const opening of others) assert.isTrue(Exit.hasDies(yield* Effect.exit(opening)))
  })
)
