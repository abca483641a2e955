import { assert, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Headers, HttpServerRequest, HttpServerResponse } from "effect/http"
import { clientAddress, forwarded, isLocal } from "../../../src/http/auth/ClientAddress.ts"

const request = (peer: string, headers: Readonly<Record<string, string>> = {}) =>
  HttpServerRequest.fromWeb(new Request("http://gateway.example/")).modify({
    remoteAddress: Option.some(peer),
    headers: Headers.fromInput(headers)
  })

/** The client's address as a handler behind the middleware sees it. */
const behind = (trustedProxies: ReadonlyArray<string>) => (sent: HttpServerRequest.HttpServerRequest) => {
  let seen: string | undefined
  const app = Effect.map(HttpServerRequest.HttpServerRequest, (request) => {
    seen = clientAddress(request)
    return HttpServerResponse.empty()
  })
  Effect.runSync(Effect.provideService(forwarded(trustedProxies)(app), HttpServerRequest.HttpServerRequest, sent))
  return seen
}

const trusting = behind(["10.0.0.0/8", "fd00::/8"])

it("the peer's address counts unless the peer is trusted, whatever its headers say", () => {
  const forwarded = { "x-forwarded-for": "198.51.100.7" }
  assert.strictEqual(behind([])(request("10.0.0.1", forwarded)), "10.0.0.1")
  assert.strictEqual(trusting(request("203.0.113.1", forwarded)), "203.0.113.1")
  assert.strictEqual(trusting(request("10.0.0.1", forwarded)), "198.51.100.7")
  assert.strictEqual(trusting(request("::ffff:10.0.0.1", forwarded)), "198.51.100.7")
  assert.strictEqual(trusting(request("fd00::1", { "x-forwarded-for": "2001:db8::7" })), "2001:db8::7")
})

it("the last forwarded address that is not a trusted proxy's counts; a client cannot choose it", () => {
  const of = (text: string) => trusting(request("10.0.0.1", { "x-forwarded-for": text }))
  assert.strictEqual(of("6.6.6.6, 198.51.100.7"), "198.51.100.7")
  assert.strictEqual(of("6.6.6.6, 198.51.100.7, 10.0.0.2"), "198.51.100.7")
  assert.strictEqual(of("10.0.0.3, 10.0.0.2"), "10.0.0.3")
  assert.strictEqual(of("6.6.6.6, unknown"), "10.0.0.1")
  assert.strictEqual(of("6.6.6.6, unknown, 10.0.0.2"), "10.0.0.1")
  assert.strictEqual(of("6.6.6.6, 198.51.100.7:4711"), "198.51.100.7")
  assert.strictEqual(of("::ffff:198.51.100.7"), "198.51.100.7")
  assert.strictEqual(of(""), "10.0.0.1")
})

it("a local request comes from a loopback peer, under a loopback name, without a proxy", () => {
  const host = (name: string) => ({ host: name })
  for (const name of ["127.0.0.1:8787", "localhost", "localhost:80", "[::1]:8787", "127.8.8.8"]) {
    assert.isTrue(isLocal(request("127.0.0.1", host(name))), name)
  }
  assert.isTrue(isLocal(request("::ffff:127.0.0.1", host("localhost"))))
  assert.isTrue(isLocal(request("::1", host("localhost"))))
  // An attacker's name that resolves to this machine, a proxy in front, another client.
  for (const name of ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", ""]) {
    assert.isFalse(isLocal(request("127.0.0.1", host(name))), name)
  }
  for (const header of ["x-forwarded-for", "x-forwarded-proto", "x-real-ip", "forwarded", "via", "cf-connecting-ip"]) {
    assert.isFalse(isLocal(request("127.0.0.1", { ...host("localhost"), [header]: "127.0.0.1" })), header)
  }
  assert.isFalse(isLocal(request("192.0.2.1", host("localhost"))))
})
