/**
 * Texts that are kept sealed: short ones as they are, long ones compressed, and those of versions
 * before.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Redacted } from "effect"
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"
import { deflateRawSync, inflateRawSync } from "node:zlib"
import { KEY_BYTES, keyMaterial, makeSealing, PLAIN_BYTES } from "../../src/gateway/Sealing.ts"

const key = keyMaterial(Redacted.make("tg-0123456789abcdef-secret"), "salt", "form 1", KEY_BYTES)
const binding = "gen_1"
const sealing = makeSealing(key, binding)

/** What a version that compresses every text reads and writes. */
const compressing = {
  open: (sealed: Uint8Array): string => {
    const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, 12)).setAAD(Buffer.from(binding))
    decipher.setAuthTag(sealed.subarray(-16))
    return inflateRawSync(Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()])).toString()
  },
  close: (text: string): Uint8Array => {
    const nonce = randomBytes(12)
    const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(binding))
    return Buffer.concat([nonce, cipher.update(deflateRawSync(text)), cipher.final(), cipher.getAuthTag()])
  }
}

const texts = [
  "",
  "a",
  "\u0001\u0000",
  "wörter ".repeat(9),
  "x".repeat(PLAIN_BYTES),
  "x".repeat(PLAIN_BYTES + 1)
].concat("日本語".repeat(100_000), randomBytes(60_000).toString("base64"))

it.effect("texts of every length open as they were, here and in a version that compresses all of them", () =>
  Effect.gen(function* () {
    for (const text of texts) {
      const sealed = yield* sealing.close(text)
      assert.strictEqual(yield* sealing.open(sealed), text)
      assert.strictEqual(compressing.open(sealed), text)
      assert.strictEqual(yield* sealing.open(compressing.close(text)), text)
    }
  })
)

it.effect("a short text is sealed at once, a long one is compressed", () =>
  Effect.gen(function* () {
    const short = "words that nobody may read ".repeat(20)
    const close = sealing.close(short)
    assert.isTrue(Exit.isExit(close))
    const sealed = Buffer.from(yield* close)
    assert.notInclude(sealed.toString("latin1"), "words")
    assert.isBelow(sealed.length, short.length + 40)
    assert.isBelow((yield* sealing.close(short.repeat(100))).length, short.length * 10)
  })
)

it.effect("a changed text, another binding and another key do not open, short or long", () =>
  Effect.gen(function* () {
    for (const text of ["short", "long ".repeat(1_000)]) {
      const sealed = yield* sealing.close(text)
      for (const at of [0, 12, 13, sealed.length - 1]) {
        const changed = Uint8Array.from(sealed)
        changed[at] = (changed[at] ?? 0) ^ 1
        assert.isTrue(Exit.isFailure(yield* Effect.exit(sealing.open(changed))))
      }
      const others = [makeSealing(key, "gen_2"), makeSealing(randomBytes(KEY_BYTES), binding)]
      for (const other of others) assert.isTrue(Exit.isFailure(yield* Effect.exit(other.open(sealed))))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(sealing.open(sealed.subarray(0, 20)))))
    }
  })
)
