import { assert, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { type Embedded } from "../../../src/gateway/chat/Embeddings.ts"
import { makeWriteList } from "../../../src/http/body/EmbeddingList.ts"

const embedded = (lengths: ReadonlyArray<number>): Embedded => ({
  model: 'test/"embed"',
  provider: "alpha",
  usage: {
    prompt_tokens: 1,
    completion_tokens: 0,
    total_tokens: 1,
    cached_tokens: 0,
    cache_hit: false,
    prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 }
  },
  vectors: lengths.map((length) => Array.from({ length }, (_, at) => Math.fround(at / 7 - 1)))
})

const whole = ({ model, provider, usage, vectors }: Embedded, format: "float" | "base64"): string =>
  JSON.stringify({
    object: "list",
    data: vectors.map((vector, index) => ({
      object: "embedding",
      index,
      embedding: format === "float" ? vector : Buffer.from(Float32Array.from(vector).buffer).toString("base64")
    })),
    model,
    provider,
    usage
  })

/** Each reading of this clock is a millisecond later. */
const ticking = Effect.map(Clock.Clock, (clock): Clock.Clock => {
  let nanos = 0n
  return Object.assign(Object.create(clock), { monotonicTimeNanosUnsafe: () => (nanos += 1_000_000n) })
})

const replies = [[], [1], [2, 2], [0], [3_071, 3_072, 3_073], [10_000, 1, 9_216]]

for (const format of ["float", "base64"] as const) {
  it.effect(`vectors as ${format} are written in turns with the same bytes as in one step`, () =>
    Effect.gen(function* () {
      const write = yield* makeWriteList
      const writeSlowly = yield* Effect.provideService(makeWriteList, Clock.Clock, yield* ticking)
      for (const reply of replies.map(embedded)) {
        const expected = whole(reply, format)
        assert.strictEqual(Buffer.from(yield* write(reply, format)).toString(), expected)
        assert.strictEqual(Buffer.from(yield* writeSlowly(reply, format)).toString(), expected)
      }
    })
  )
}

it.effect("writing a long list yields to other fibers", () =>
  Effect.gen(function* () {
    const write = yield* Effect.provideService(makeWriteList, Clock.Clock, yield* ticking)
    let rounds = 0
    let isOver = false
    const round = () => {
      rounds++
      if (!isOver) setImmediate(round)
    }
    round()
    yield* write(embedded(Array.from({ length: 100 }, () => 4_096)), "float")
    isOver = true
    // Two slices per vector, and four readings of the clock per turn.
    assert.isAtLeast(rounds, 50)
  })
)
