/** Requests for a code, and failures with one, do not depend on whether an account exists. */
import * as SecretStoreMemory from "../../../src/store/secrets/SecretStoreMemory.ts"
import * as LimitsMemory from "../../../src/store/limits/LimitsMemory.ts"
import * as ChallengesMemory from "../../../src/store/people/ChallengesMemory.ts"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { SignInRefused } from "../../../src/domain/Errors.ts"
import { Ids } from "../../../src/domain/Ids.ts"
import { AccountLinking } from "../../../src/gateway/signin/AccountLinking.ts"
import { CodeSignIn } from "../../../src/gateway/signin/CodeSignIn.ts"
import { HmacKey } from "../../../src/gateway/signin/HmacKey.ts"
import { SessionTokens } from "../../../src/gateway/signin/SessionTokens.ts"
import { networkOf, SignInLimits } from "../../../src/gateway/signin/SignInLimits.ts"
import { countryOf, destinationOf, masked } from "../../../src/gateway/signin/Destination.ts"
import { type CodeMessage } from "../../../src/identity/CodeMessage.ts"
import { Delivery } from "../../../src/identity/Delivery.ts"
import { noSignIn } from "../../../src/settings/sections/SignIn.ts"
import { Challenges } from "../../../src/store/people/Challenges.ts"

const sent: Array<CodeMessage> = []

/** A service that fails the test if users or sessions are read. */
const blind = CodeSignIn.layer(noSignIn).pipe(
  Layer.provide(Layer.mergeAll(Layer.mock(AccountLinking, {}), Layer.mock(SessionTokens, {}))),
  Layer.provide(SignInLimits.layer),
  Layer.provide(
    Layer.succeed(Delivery, {
      channels: ["email", "sms"],
      smsCountries: null,
      mailbox: null,
      send: (message) => Effect.sync(() => void sent.push(message))
    })
  ),
  Layer.provideMerge(HmacKey.layer),
  Layer.provideMerge(Layer.mergeAll(ChallengesMemory.layer, SecretStoreMemory.layer, LimitsMemory.layer, Ids.layer))
)

const asking = (destination: string) =>
  Effect.flatMap(CodeSignIn, ({ start }) => start({ channel: "email", destination, address: "192.0.2.1" }))

it.effect("neither the start nor a failed verification reads users or sessions", () =>
  Effect.gen(function* () {
    const { verify } = yield* CodeSignIn
    const started = yield* asking("anna@example.com")
    for (const challengeId of [started.challengeId, `chl_${"0".repeat(32)}`, "nonsense"]) {
      const refused = yield* Effect.flip(
        verify({ channel: "email", challengeId, code: "wrong", address: "192.0.2.1", userAgent: null })
      )
      assert.deepStrictEqual(refused.reason, new SignInRefused({ what: "code" }))
    }
    // A correct code is the first moment at which users are read.
    const code = sent.find(({ destination }) => destination === "anna@example.com")?.code ?? ""
    const known = yield* Effect.exit(
      verify({ channel: "email", challengeId: started.challengeId, code, address: "192.0.2.1", userAgent: null })
    )
    assert.isTrue(known._tag === "Failure" && known.cause.reasons.some(({ _tag }) => _tag === "Die"))
  }).pipe(Effect.provide(blind))
)

it.effect("codes are stored as keyed hashes: neither as codes nor as plain hashes", () =>
  Effect.gen(function* () {
    const [challenges, pepper] = [yield* Challenges, yield* HmacKey]
    const { challengeId } = yield* asking("berta@example.com")
    const kept = yield* challenges.attempt({ id: challengeId, channel: "email", maxAttempts: 5, nowMs: 0 })
    const { codeHash } = Option.getOrThrow(kept)
    const code = sent.find(({ destination }) => destination === "berta@example.com")?.code ?? ""
    assert.strictEqual(codeHash, yield* pepper.hash("code", `${challengeId} ${code}`))
    const { createHash } = yield* Effect.promise(() => import("node:crypto"))
    for (const text of [code, `${challengeId} ${code}`]) {
      assert.notStrictEqual(codeHash, createHash("sha256").update(text).digest("hex"))
    }
  }).pipe(Effect.provide(blind))
)

it("a network is an IPv4 address, or the /64 of an IPv6 one", () => {
  assert.strictEqual(networkOf("192.0.2.1"), "192.0.2.1")
  assert.strictEqual(networkOf("::ffff:192.0.2.1"), "192.0.2.1")
  assert.strictEqual(networkOf("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2")
  assert.strictEqual(networkOf("2001:0DB8:0001:0002::9"), "2001:db8:1:2")
  assert.strictEqual(networkOf("2001:db8::1"), "2001:db8:0:0")
  assert.strictEqual(networkOf("fe80::1%eth0"), "fe80:0:0:0")
  assert.strictEqual(networkOf("::1"), "0:0:0:0")
})

it("an address or number has one form, and its masked form reveals little", () => {
  assert.deepStrictEqual(destinationOf("email", " Anna@EXAMPLE.com "), Option.some("anna@example.com"))
  assert.deepStrictEqual(destinationOf("email", "a@Bücher.example"), Option.some("a@xn--bcher-kva.example"))
  assert.deepStrictEqual(destinationOf("email", `${"a".repeat(65)}@example.com`), Option.none())
  assert.deepStrictEqual(destinationOf("email", "anna＠example.com"), Option.none())
  // Characters whose lower case is an ASCII letter: the Kelvin sign and the long s.
  for (const address of ["\u212Aarl@example.com", "anna.\u017Fmith@example.com", "anna\u0130@example.com"]) {
    assert.deepStrictEqual(destinationOf("email", address), Option.none(), address)
  }
  assert.deepStrictEqual(destinationOf("sms", " +12025550123"), Option.some("+12025550123"))
  assert.deepStrictEqual(destinationOf("sms", "anna@example.com"), Option.none())
  assert.strictEqual(masked("email", "a@example.com"), "a•••@example.com")
  assert.strictEqual(masked("sms", "+4915123456789"), "+4•••89")
})

it.effect("a number's country depends on its area code too", () =>
  Effect.gen(function* () {
    const countries = yield* Effect.forEach(["+12025550123", "+18765550123", "+14165550123", "+15550100000"], countryOf)
    assert.deepStrictEqual(countries, [Option.some("US"), Option.some("JM"), Option.some("CA"), Option.none()])
  })
)
