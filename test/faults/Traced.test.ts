/**
 * The client's trace context without telemetry: nothing is recorded, and the provider gets the
 * context unchanged.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { answering, behind, modes, useUpstream } from "./gateway.ts"

const upstream = useUpstream()
const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

it.live.each(modes)("a valid context is passed to the provider, an invalid one is not (%s)", (mode) =>
  Effect.gen(function* () {
    const { app, body, calls, key } = yield* behind(upstream(), { alpha: { does: answering(mode) } })
    const sent: ReadonlyArray<readonly [Readonly<Record<string, string>>, ReadonlyArray<unknown>]> = [
      [{ traceparent, tracestate: "vendor=1" }, [traceparent, "vendor=1"]],
      [{ traceparent }, [traceparent, undefined]],
      [{ traceparent: `${traceparent}-x`, tracestate: "vendor=1" }, [undefined, undefined]],
      [{ tracestate: "vendor=1" }, [undefined, undefined]]
    ]
    for (const [headers] of sent) {
      const { status } = yield* app.chat(body(mode), { key, headers: { ...headers, "cache-control": "no-store" } })
      assert.strictEqual(status, 200)
    }
    assert.deepStrictEqual(
      (yield* calls("alpha")).map(({ headers }) => [headers["traceparent"], headers["tracestate"]]),
      sent.map(([, received]) => received)
    )
  })
)
