import { assert, it } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted } from "effect"
import { mockProvider } from "../../src/providers/presets/Mock.ts"
import { jsonLogger } from "../../src/observability/Logs.ts"
import { redactor } from "../../src/observability/Redaction.ts"
import { defaultSettings } from "../../src/Settings.ts"

const settings = {
  ...defaultSettings,
  databaseUrl: Redacted.make("postgres://u:db-password@db/x"),
  providers: [{ ...mockProvider, apiKey: Redacted.make("an-odd-provider-key") }]
}

const logging = (written: Array<string>) =>
  Layer.effectDiscard(Effect.void).pipe(
    Layer.provideMerge(Logger.layer([jsonLogger(settings, (text) => void written.push(text))]))
  )

it.effect("requests of one turn are written together, anything else at once and in order", () => {
  const written: Array<string> = []
  return Effect.gen(function* () {
    yield* Effect.gen(function* () {
      yield* Effect.logInfo("request")
      yield* Effect.logInfo("request")
      assert.lengthOf(written, 0)
      yield* Effect.promise(() => new Promise((later) => setImmediate(later)))
      assert.deepStrictEqual(
        written.map((text) => text.trim().split("\n").length),
        [2]
      )
      yield* Effect.logInfo("request")
      yield* Effect.logInfo("ready")
      assert.deepStrictEqual(
        written.slice(1).map((text) => JSON.parse(text).message),
        ["request", "ready"]
      )
      yield* Effect.logInfo("request")
    }).pipe(Effect.provide(logging(written)))
    assert.lengthOf(written, 4)
  })
})

it.effect("a warning shows no secret of the settings, and nothing that looks like a credential", () => {
  const written: Array<string> = []
  return Effect.gen(function* () {
    yield* Effect.logError("it broke", new Error("key an-odd-provider-key at postgres://u:db-password@db/x"))
    yield* Effect.annotateLogs(Effect.logWarning("odd"), { header: "Bearer tg-0123456789abcdef-secretsecret" })
    const text = written.join("")
    for (const hidden of ["an-odd-provider-key", "db-password", "secretsecret", "0123456789abcdef"]) {
      assert.notInclude(text, hidden)
    }
    assert.include(text, "(hidden)")
  }).pipe(Effect.provide(logging(written)))
})

it("what has the form of a credential is hidden wherever it stands; words are not", () => {
  const redact = redactor(defaultSettings)
  const secrets = [
    "tga-0123456789abcdef",
    "sk-proj-0123456789abcdefghij",
    "AIzaSyA0123456789abcdefghijklmnop",
    "AKIA0123456789ABCDEF",
    "ghp_0123456789abcdefghij",
    "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ1c3JfMSJ9.c2lnbmF0dXJl"
  ]
  for (const secret of secrets) assert.notInclude(redact(`before ${secret} after`), secret.slice(5))
  assert.strictEqual(redact("redis://:pass@cache:6379 is away"), "redis://(hidden)@cache:6379 is away")
  const plain = "alpha: the circuit is open; see https://docs.example/x, task-force, skate-board"
  assert.strictEqual(redact(plain), plain)
})
