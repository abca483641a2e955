import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeRedisCommands } from "../../../src/store/redis/RedisCommands.ts"
import { RedisOffline } from "../../../src/store/redis/RedisOffline.ts"

/** A connection that sends the replies of the test. */
const connect = Effect.fnUntraced(function* () {
  const waiting: Array<(reply: unknown) => void> = []
  const client = {
    isReady: true,
    sendCommand: () => new Promise<never>((resolve) => void waiting.push(resolve as (reply: unknown) => void))
  }
  const silences: Array<number> = []
  const send = yield* makeRedisCommands({
    client,
    limit: Duration.millis(500),
    heard: { replies: 0 },
    onSilence: () => void silences.push(waiting.length)
  })
  // The first check.
  yield* TestClock.adjust(0)
  return {
    client,
    silences,
    /** The time limit of the command's error, or its reply. */
    sent: Effect.forkChild(
      Effect.match(send<string>(["PING"]), {
        onFailure: ({ cause }) => (cause instanceof Error ? cause.message : "no error"),
        onSuccess: (reply) => reply
      }),
      { startImmediately: true }
    ),
    /** Replies to the oldest command. */
    reply: (text: string) => waiting.shift()?.(text)
  }
})

/** An expired command fails after the socket was read once more. */
const socketRead = Effect.callback<void>((resume) => {
  setImmediate(() => setImmediate(() => setImmediate(() => resume(Effect.void))))
})

const pass = (ms: number) => Effect.andThen(TestClock.adjust(Duration.millis(ms)), socketRead)

const outOfTime = "Redis did not answer within 500ms"

describe("makeRedisCommands", () => {
  it.effect("fails a command at its limit, and reports a Redis that sent no reply meanwhile", () =>
    Effect.gen(function* () {
      const { sent, silences } = yield* connect()
      const fiber = yield* sent
      yield* pass(500)
      assert.isUndefined(fiber.pollUnsafe())
      yield* pass(125)
      assert.strictEqual(yield* Fiber.join(fiber), outOfTime)
      assert.deepStrictEqual(silences, [1])
    })
  )

  it.effect("fails only the commands whose limit is over, and a Redis that replied is not silent", () =>
    Effect.gen(function* () {
      const { reply, sent, silences } = yield* connect()
      const [answered, late] = [yield* sent, yield* sent]
      yield* pass(250)
      const young = yield* sent
      reply("PONG")
      assert.strictEqual(yield* Fiber.join(answered), "PONG")
      yield* pass(375)
      assert.strictEqual(yield* Fiber.join(late), outOfTime)
      assert.isUndefined(young.pollUnsafe())
      // The reply to the expired command comes first.
      reply("too late")
      reply("PONG")
      assert.strictEqual(yield* Fiber.join(young), "PONG")
      assert.deepStrictEqual(silences, [])
    })
  )

  it.effect("sends nothing while the client is disconnected", () =>
    Effect.gen(function* () {
      const { client, sent } = yield* connect()
      client.isReady = false
      assert.strictEqual(yield* Fiber.join(yield* sent), new RedisOffline().message)
    })
  )
})
