import { assert, it } from "@effect/vitest"
import { Option, Redacted } from "effect"
import { inspect } from "node:util"
import { makeSecret, readSecret, sameHash, sameSecret } from "../../../src/gateway/keys/KeySecret.ts"

it("a secret parses to its public id and hash, and prints as redacted", () => {
  const made = makeSecret()
  const read = Option.getOrThrow(readSecret(Redacted.value(made.secret)))
  assert.deepStrictEqual(read, { publicId: made.publicId, hash: made.hash })
  assert.match(made.hash, /^[0-9a-f]{64}$/)
  assert.notInclude(`${JSON.stringify(made.secret)} ${inspect(made.secret)}`, made.publicId)
  assert.isAtLeast(Buffer.from(Redacted.value(made.secret).split("-").slice(2).join("-"), "base64url").length, 32)
})

it("a rotation keeps the public id and nothing else", () => {
  const first = makeSecret()
  const second = makeSecret(first.publicId)
  assert.strictEqual(second.publicId, first.publicId)
  assert.notStrictEqual(second.hash, first.hash)
})

it("a text without the form of a key is refused", () => {
  const secret = Redacted.value(makeSecret().secret)
  for (const wrong of ["", "tg-", secret.slice(1), `${secret}\n`, secret.replace("tg-", "sk-"), "x".repeat(100_000)]) {
    assert.isTrue(Option.isNone(readSecret(wrong)), wrong.slice(0, 80))
  }
})

it("comparison works for any lengths", () => {
  assert.isTrue(sameHash("ab", "ab"))
  assert.isFalse(sameHash("ab", "ac"))
  assert.isFalse(sameHash("ab", "abc"))
  assert.isTrue(sameSecret("", ""))
  assert.isTrue(sameSecret("ключ", "ключ"))
  assert.isFalse(sameSecret("key", "ke"))
  assert.isFalse(sameSecret("key", "kez"))
})
