/**
 * Providers that cannot be reached: no listener, an unknown name, no TLS, or an invalid
 * certificate.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:net"
import { assertFallback } from "./answers.ts"
import { selfSigned } from "../support/selfSigned.ts"
import { answering, behind, modes, useUpstream } from "./gateway.ts"
import { secureServer } from "./secureServer.ts"

const upstream = useUpstream()

/** A port without a listener. */
const deadPort = Effect.callback<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

const addresses = {
  "connection refused": Effect.map(deadPort, (port) => `http://127.0.0.1:${port}/v1`),
  "unknown host": Effect.succeed("http://provider.invalid/v1"),
  "no TLS at the other end": Effect.sync(() => `${upstream().origin.replace("http:", "https:")}/v1`),
  "an untrusted certificate": Effect.map(secureServer(selfSigned()), ({ url }) => url)
} as const

const cases = modes.flatMap((mode) =>
  Object.entries(addresses).map(([name, baseUrl]) => ({ mode, name, address: baseUrl }))
)

it.live.each(cases)("$name: the fallback answers ($mode)", ({ address, mode }) =>
  Effect.gen(function* () {
    const gateway = yield* behind(upstream(), {
      alpha: { does: answering(mode), baseUrl: yield* address },
      beta: { does: answering(mode) }
    })
    const reply = yield* gateway.ask(mode)
    assertFallback(mode, reply, { status: "error", error_type: "unreachable", http_status: null })
    assert.isEmpty(yield* gateway.calls("alpha"))
  })
)

it.live.each(cases)(
  "$name without a fallback: retried, then an error without the address ($mode)",
  ({ address, mode }) =>
    Effect.gen(function* () {
      const baseUrl = yield* address
      const gateway = yield* behind(upstream(), { alpha: { does: answering(mode), baseUrl } })
      const reply = yield* gateway.ask(mode)
      assert.strictEqual(reply.status, 502)
      assert.strictEqual(reply.error?.type, "provider_error")
      assert.isTrue(reply.error?.retryable)
      assert.deepStrictEqual(
        reply.error?.details.attempts?.map(({ error_type: type }) => type),
        ["unreachable", "unreachable"]
      )
      assert.notInclude(reply.text, new URL(baseUrl).host)
    })
)

it.live.each(modes)("a connection reset before an answer: the fallback answers (%s)", (mode) =>
  Effect.gen(function* () {
    const gateway = yield* behind(upstream(), {
      alpha: { does: { ending: "reset_at_once" } },
      beta: { does: answering(mode) }
    })
    assertFallback(mode, yield* gateway.ask(mode), { status: "error", error_type: "unreachable", http_status: null })
  })
)
