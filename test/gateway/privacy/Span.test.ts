/** Findings of a long text are merged in steps, as if they were merged at once. */
import { assert, it } from "@effect/vitest"
import { type Span, withoutOverlaps } from "../../../src/gateway/privacy/Span.ts"

const merged = (spans: ReadonlyArray<Span>) => {
  const steps = withoutOverlaps(spans)
  let pauses = 0
  for (;;) {
    const step = steps.next()
    if (step.done === true) return { spans: step.value, pauses }
    pauses++
  }
}

it("findings of all recognisers come in the order of the text, with pauses by their number and by its length", () => {
  const emails = Array.from({ length: 20_000 }, (_, at): Span => ({ start: 50 * at, end: 50 * at + 10, type: "email" }))
  const secrets = emails.map(({ start }): Span => ({ start: start + 20, end: start + 45, type: "secret" }))
  // Each one begins inside an address and ends after it.
  const phones = emails.map(({ start }): Span => ({ start: start + 5, end: start + 12, type: "phone" }))
  const { pauses, spans } = merged([...emails, ...secrets, ...phones])
  assert.deepStrictEqual(
    spans,
    emails.flatMap(({ start }): ReadonlyArray<Span> => [
      { start, end: start + 12, type: "email" },
      { start: start + 20, end: start + 45, type: "secret" }
    ])
  )
  assert.isAtLeast(pauses, 60_000 / 1_024 + 1_000_000 / 16_384 - 2)
})

it("a finding that reaches over many windows takes in what begins in it", () => {
  const long = { start: 100, end: 100_000, type: "secret" }
  const inside = [{ start: 70_000, end: 70_010, type: "email" }]
  const across = { start: 99_990, end: 100_020, type: "iban" }
  assert.deepStrictEqual(merged([...inside, across, long]).spans, [{ start: 100, end: 100_020, type: "secret" }])
})
