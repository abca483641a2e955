import * as SecretStoreMemory from "../../../src/store/secrets/SecretStoreMemory.ts"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { generateKeyPair, importJWK, jwtVerify, SignJWT } from "jose"
import { AccessTokens } from "../../../src/gateway/signin/AccessTokens.ts"
import { SigningKeys } from "../../../src/gateway/signin/SigningKeys.ts"
import { SecretStore } from "../../../src/store/secrets/SecretStore.ts"

const issuer = "https://gateway.example.com"
const tokens = (name = issuer) =>
  AccessTokens.layer({ issuer: name, lifetimeSeconds: 900 }).pipe(Layer.provideMerge(SigningKeys.layer))
const layer = tokens().pipe(Layer.provideMerge(SecretStoreMemory.layer))

const claims = { userId: `usr_${"1".repeat(32)}`, sessionId: `ses_${"2".repeat(32)}` }
const issued = Effect.flatMap(AccessTokens, ({ issue }) => Effect.map(issue(claims), Redacted.value))
const isGood = (token: string) => Effect.flatMap(AccessTokens, ({ verify }) => Effect.map(verify(token), Option.isSome))
const kids = Effect.flatMap(AccessTokens, ({ keySet }) => Effect.map(keySet, ({ keys }) => keys.map(({ kid }) => kid)))
const kidOf = (token: string): string => JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()).kid

it.effect("names user and session until it expires, and can be verified with the published key", () =>
  Effect.gen(function* () {
    const { keySet, verify } = yield* AccessTokens
    const token = yield* issued
    assert.deepStrictEqual(yield* verify(token), Option.some(claims))
    const { keys } = yield* keySet
    const jwk = keys.find(({ kid }) => kid === kidOf(token))
    assert.notProperty(jwk, "d")
    const { payload, protectedHeader } = yield* Effect.promise(async () =>
      jwtVerify(token, await importJWK(jwk ?? {}, "EdDSA"), { currentDate: new Date(0), audience: issuer, issuer })
    )
    assert.deepStrictEqual(payload, {
      iss: issuer,
      aud: issuer,
      sub: claims.userId,
      sid: claims.sessionId,
      iat: 0,
      exp: 900
    })
    assert.deepStrictEqual([protectedHeader.alg, protectedHeader.typ], ["EdDSA", "at+jwt"])
    yield* TestClock.adjust("899 seconds")
    assert.isTrue(yield* isGood(token))
    yield* TestClock.adjust("1 second")
    assert.isFalse(yield* isGood(token))
  }).pipe(Effect.provide(layer))
)

it.effect("a token of another issuer, or of another key with our key's id, is invalid", () =>
  Effect.gen(function* () {
    const other = yield* issued.pipe(Effect.provide(tokens("https://other.example")))
    assert.isFalse(yield* isGood(other))
    const token = yield* issued
    const { privateKey } = yield* Effect.promise(() => generateKeyPair("EdDSA", { crv: "Ed25519" }))
    const sign = (typ: string) =>
      Effect.promise(() =>
        new SignJWT({ sid: claims.sessionId })
          .setProtectedHeader({ alg: "EdDSA", typ, kid: kidOf(token) })
          .setIssuer(issuer)
          .setAudience(issuer)
          .setSubject(claims.userId)
          .setExpirationTime(900)
          .sign(privateKey)
      )
    assert.isFalse(yield* isGood(yield* sign("at+jwt")))
    const confused = yield* Effect.promise(() =>
      new SignJWT({ sid: claims.sessionId })
        .setProtectedHeader({ alg: "HS256", typ: "at+jwt", kid: kidOf(token) })
        .setIssuer(issuer)
        .setAudience(issuer)
        .setSubject(claims.userId)
        .setExpirationTime(900)
        .sign(Buffer.from("the public key, as a shared secret, padded"))
    )
    assert.isFalse(yield* isGood(confused))
  }).pipe(Effect.provide(layer))
)

it.effect("keys are published one span before they sign and two hours after, then deleted", () =>
  Effect.gen(function* () {
    yield* TestClock.adjust("100 days")
    const token = yield* issued
    const before = yield* kids
    assert.strictEqual(before[0], kidOf(token))
    assert.lengthOf(before, 2)
    yield* TestClock.adjust("20 days")
    yield* TestClock.adjust("-1 minute")
    const last = yield* issued
    assert.strictEqual(kidOf(last), before[0])
    yield* TestClock.adjust("2 minutes")
    assert.isTrue(yield* isGood(last))
    assert.strictEqual(kidOf(yield* issued), before[1])
    assert.deepStrictEqual((yield* kids).slice(0, 2), before)
    yield* TestClock.adjust("2 hours")
    assert.strictEqual((yield* kids)[0], before[1])
    assert.isFalse(yield* isGood(last))
  }).pipe(Effect.provide(layer))
)

it.effect("processes that share a secret store verify each other's tokens; keys of old spans are deleted", () =>
  Effect.gen(function* () {
    yield* TestClock.adjust("45 days")
    const token = yield* issued
    const elsewhere = Layer.fresh(tokens())
    assert.isTrue(yield* isGood(token).pipe(Effect.provide(elsewhere)))
    yield* TestClock.adjust("60 days")
    yield* issued
    const secrets = yield* SecretStore
    assert.strictEqual(Redacted.value(yield* secrets.getOrCreate("signing-key-1", Effect.succeed("gone"))), "gone")
  }).pipe(Effect.provide(layer))
)
