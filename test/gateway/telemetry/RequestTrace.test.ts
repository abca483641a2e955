/** The spans of a request's stages, whether a stage waits, answers at once or throws. */
import { assert, it } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Option, Tracer } from "effect"
import { NotFound, gatewayError } from "../../../src/domain/Errors.ts"
import { RequestTrace, stagedNow } from "../../../src/gateway/telemetry/RequestTrace.ts"

const traceOf = (clock: Clock.Clock) => {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  const span = tracer.span({
    name: "request",
    parent: Option.none(),
    annotations: Context.empty(),
    links: [],
    startTime: 0n,
    kind: "server",
    root: true,
    sampled: true
  })
  return { spans, trace: new RequestTrace({ _tag: "Sampled", span, tracer, tracestate: null }, clock) }
}

const told = ({ attributes, name, status }: Tracer.NativeSpan) =>
  [name, status._tag === "Ended" && Exit.isSuccess(status.exit), Object.fromEntries(attributes)] as const

it.effect("a stage that answers at once has a span, and takes no step of its own", () =>
  Effect.gen(function* () {
    const { spans, trace } = traceOf(yield* Clock.Clock)
    const answered = stagedNow(
      trace,
      "answered",
      () => Effect.succeed(1),
      (value) => ({ value })
    )
    assert.isTrue(Exit.isExit(answered))
    const refused = stagedNow(trace, "refused", () =>
      Effect.fail(gatewayError(new NotFound({ what: "route", id: "" })))
    )
    assert.isTrue(Exit.isExit(refused))
    yield* stagedNow(trace, "waited", () => Effect.delay(Effect.void, 0))
    trace.end({}, null, null)
    assert.deepStrictEqual(spans.slice(1).map(told), [
      ["answered", true, { value: 1 }],
      ["refused", false, { "error.type": "not_found" }],
      ["waited", true, {}]
    ])
  })
)

it.effect("a stage that throws as it is built ends with its request, as a defect", () =>
  Effect.gen(function* () {
    const { spans, trace } = traceOf(yield* Clock.Clock)
    const exit = yield* Effect.exit(
      Effect.suspend(() => stagedNow(trace, "broken", (): Effect.Effect<void> => assert.fail("a broken invariant")))
    )
    assert.isTrue(Exit.isFailure(exit))
    trace.end({}, null, "internal_error")
    assert.deepStrictEqual(spans.slice(1).map(told), [["broken", false, { "error.type": "internal_error" }]])
  })
)
