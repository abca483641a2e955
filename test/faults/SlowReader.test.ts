/**
 * A client that reads slowly: the provider is slowed down, nothing is buffered beyond bounds, and
 * nothing is lost. The surfaces differ only in what they write of an event.
 */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { defaultSettings } from "../../src/Settings.ts"
import { surfaces } from "../support/surfaces.ts"
import { chunkBody, DONE, sse, usageChunkBody } from "../support/upstream/Bodies.ts"
import { behind, behindOn, healthy, useUpstream } from "./gateway.ts"
import { openReader } from "./reader.ts"

const upstream = useUpstream()

const content = "word ".repeat(4_000)
const events = 1_050

it.live.each(surfaces)(
  "$name: a stream that is not read stops at the provider, and is complete once it is read",
  (surface) =>
    Effect.gen(function* () {
      const chunks = [
        { repeat: sse(chunkBody({ content })), times: events },
        sse(chunkBody({}, "stop")),
        sse(usageChunkBody(healthy)),
        DONE
      ]
      const gateway = yield* behindOn(surface)(upstream(), { alpha: { does: { chunks } } })
      const client = yield* Effect.promise(() => openReader(gateway))
      const blocked = yield* gateway.called("alpha", ({ isBlocked }) => isBlocked)
      // Only the buffers of the operating system on both connections were filled.
      assert.isBelow(blocked.sentBytes, (events * content.length * 3) / 4)
      const { bytes, tail } = yield* Effect.promise(() => client.readAll())
      assert.isAbove(bytes, events * content.length)
      assert.isTrue(surface.endsWell(tail))
      assert.match(tail, new RegExp(`"(?:prompt|input)_tokens":${healthy.prompt_tokens}`))
    })
)

it.live("a client that leaves while the provider is blocked: the call is closed", () =>
  Effect.gen(function* () {
    const chunks = [{ repeat: sse(chunkBody({ content })), times: events }, DONE]
    const gateway = yield* behind(upstream(), { alpha: { does: { chunks } } })
    const client = yield* Effect.promise(() => openReader(gateway))
    yield* gateway.called("alpha", ({ isBlocked }) => isBlocked)
    client.leave()
    const call = yield* gateway.called("alpha", ({ closedEarly }) => closedEarly)
    assert.isBelow(call.sentBytes, events * content.length)
  })
)

it.live("a client that reads nothing for too long is disconnected, and its request is settled as cancelled", () =>
  Effect.gen(function* () {
    const chunks = [{ repeat: sse(chunkBody({ content })), times: events }, DONE]
    const server = { ...defaultSettings.server, stalledReaderMs: 400 }
    const gateway = yield* behind(upstream(), { alpha: { does: { chunks } } }, "enterprise", { server })
    const client = yield* Effect.promise(() => openReader(gateway))
    yield* gateway.called("alpha", ({ closedEarly }) => closedEarly)
    const cut = yield* Effect.flip(Effect.tryPromise(() => client.readAll()))
    assert.isDefined(cut)
  })
)
