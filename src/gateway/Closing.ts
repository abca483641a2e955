/**
 * The endings of an order. Whatever they are (answered whole, streamed to the end, broken off, failed, cancelled), the ledger is
 * settled once, with what the provider reported or with what was counted here, and the generation says how it came about.
 */
import * as Arr from "effect/Array"
import { Cause, Clock, Context, Effect, Layer, type Pull, type Scope, Stream } from "effect"
import { type Candidate } from "../domain/Catalog.ts"
import { type ChatEvent, type ChatReply, type ChoiceDelta, type UsageInfo } from "../domain/Chat.ts"
import { gatewayError, type GatewayError, ProvidersFailed, ProvidersTimedOut } from "../domain/Errors.ts"
import { type Generation } from "../domain/Generation.ts"
import { onClose } from "../domain/OnClose.ts"
import { type TokenUsage } from "../domain/Money.ts"
import { type ProviderError } from "../providers/Provider.ts"
import { charge, promptOf } from "./Charges.ts"
import { Circuits } from "./Circuits.ts"
import { markBroken } from "./Failures.ts"
import { countedUsage, type Ending, endingOf, errorTypeOf, nothing, type Origin, wholeEnding } from "./Ending.ts"
import { Meter } from "./Meter.ts"
import { type Order, rankedAs } from "./Order.ts"
import { ProviderStats } from "./ProviderStats.ts"
import { OutputCounter } from "./Tokens.ts"
import { usageInfo } from "./UsageInfo.ts"

/** What the router or the cache answered. */
export interface Answer extends Origin {
  readonly latencyMs: number
  readonly body:
    | { readonly _tag: "Whole"; readonly reply: ChatReply }
    | { readonly _tag: "Stream"; readonly events: Stream.Stream<ChatEvent, ProviderError | GatewayError> }
}

/**
 * A stream as the client sees it: deltas, then `Failed` if it broke, then `Usage` last. It cannot fail: what breaks is said in the
 * stream.
 */
export type CompletionEvent =
  | { readonly _tag: "Choices"; readonly choices: ReadonlyArray<ChoiceDelta> }
  | { readonly _tag: "Failed"; readonly error: GatewayError }
  | { readonly _tag: "Usage"; readonly usage: UsageInfo }

/** What is known of an answer on its way, for an ending that comes too early. */
interface Progress {
  readonly answer: Answer
  readonly output: OutputCounter
  readonly timeToFirstTokenMs: number
}

export class Closing extends Context.Service<
  Closing,
  {
    /** Settles what is still open when the request's scope closes: the client has left, or a defect struck. */
    readonly onScopeClose: (order: Order) => Effect.Effect<void, never, Scope.Scope>
    /** Settles an order that failed before anything reached the client: recorded if a provider was called, void if none was. */
    readonly onFailure: (
      order: Order
    ) => <A, R>(self: Effect.Effect<A, GatewayError, R>) => Effect.Effect<A, GatewayError, R>
    readonly whole: (order: Order, answer: Answer, reply: ChatReply) => Effect.Effect<UsageInfo, GatewayError>
    /**
     * Settles what was neither reserved nor needs anybody's work, an answer out of the cache, if the budget has room for what it would
     * have held: its generation. Null: there is none, and nothing happened.
     */
    readonly replay: (
      order: Order,
      candidate: Candidate,
      reply: ChatReply
    ) => Effect.Effect<Generation | null, GatewayError>
    /** Settles what has no completion: embeddings. */
    readonly metered: (
      order: Order,
      from: Pick<Answer, "candidate" | "fallbackUsed">,
      reported: TokenUsage | null
    ) => Effect.Effect<UsageInfo, GatewayError>
    /** The answer's events as the client sees them; settled before the last of them. */
    readonly stream: (
      order: Order,
      answer: Answer,
      events: Stream.Stream<ChatEvent, ProviderError | GatewayError>
    ) => Effect.Effect<Stream.Stream<CompletionEvent>, GatewayError>
  }
>()("tollgate/gateway/Closing") {
  static readonly layer = Layer.effect(
    Closing,
    Effect.gen(function* () {
      const meter = yield* Meter
      const stats = yield* ProviderStats
      const circuits = yield* Circuits
      const underWay = new WeakMap<Order, Progress>()

      const failed = (order: Order, errorType: string) =>
        meter.settle(order, { ...nothing, errorType, fallbackUsed: fellBack(order) })

      /** The client left, or the process is giving up. What the provider had produced is charged. */
      const abandoned = Effect.fnUntraced(function* (order: Order) {
        const progress = underWay.get(order)
        const begun = order.continuation?.candidate ?? progress?.answer.candidate
        const [first, ...beside] = begun === undefined ? interruptedCalls(order) : []
        const candidate = begun ?? first?.candidate
        if (candidate === undefined) {
          if (order.attempts.length === 0) return yield* meter.void(order)
          // Between two attempts: nobody produced anything, but somebody was called.
          return yield* Effect.ignore(
            meter.settle(order, { ...nothing, cancelled: true, fallbackUsed: fellBack(order) })
          )
        }
        for (const { at, candidate } of beside) charge(order, promptOf(order, candidate), at)
        yield* Effect.ignore(
          meter.settle(order, {
            candidate,
            usage: countedUsage(order, progress?.output.count() ?? order.produced?.() ?? 0),
            usageSource: progress?.answer.source === "cache" ? "cache" : "counted",
            timeToFirstTokenMs: progress?.timeToFirstTokenMs ?? null,
            finishReason: null,
            errorType: null,
            cancelled: true,
            fallbackUsed: progress?.answer.fallbackUsed === true || fellBack(order)
          })
        )
      })

      /** Settles an answer. `reported`: the provider's figures; that they were not believed is for the operator to know. */
      const settle = (order: Order, ending: Ending, reported: TokenUsage | null) =>
        reported === null || ending.usageSource !== "counted"
          ? meter.settle(order, ending)
          : Effect.andThen(noteUnbelieved(order, ending, reported), meter.settle(order, ending))

      const whole = (order: Order, answer: Answer, reply: ChatReply) => {
        const { generation } = order.facts
        // It was settled before it got here: `replay`.
        if (order.account.settled && generation !== null) return Effect.succeed(usageInfo(generation))
        return Effect.flatMap(meter.durable(order), () =>
          Effect.map(settle(order, wholeEnding(order, answer, reply), reply.usage), usageInfo)
        )
      }

      const replay = (order: Order, candidate: Candidate, reply: ChatReply) =>
        meter.replay(order, wholeEnding(order, { candidate, fallbackUsed: false, source: "cache" }, reply))

      const metered = Effect.fnUntraced(function* (
        order: Order,
        from: Pick<Answer, "candidate" | "fallbackUsed">,
        reported: TokenUsage | null
      ) {
        yield* meter.durable(order)
        const ending = endingOf(order, { ...from, source: "upstream" }, reported, () => 0)
        return usageInfo(yield* settle(order, ending, reported))
      })

      const stream = Effect.fnUntraced(function* (
        order: Order,
        answer: Answer,
        events: Stream.Stream<ChatEvent, ProviderError | GatewayError>
      ) {
        // Nothing may reach the client before its generation can be found again.
        yield* meter.durable(order)
        const firstTokenAtMs = yield* Clock.currentTimeMillis
        const output = new OutputCounter()
        underWay.set(order, { answer, output, timeToFirstTokenMs: firstTokenAtMs - order.startedAtMs })
        let finishReason: string | null = null
        let usage: TokenUsage | null = null
        let broken: ProviderError | GatewayError | null = null

        /** What of it goes to the client. */
        const observe = (chunk: ReadonlyArray<ChatEvent>): ReadonlyArray<CompletionEvent> => {
          const deltas: Array<CompletionEvent> = []
          for (const event of chunk) {
            if (event._tag === "End") {
              usage = event.usage
              continue
            }
            output.add(event.choices)
            for (const choice of event.choices) finishReason = choice.finish_reason ?? finishReason
            deltas.push(event)
          }
          return deltas
        }

        const finish = Effect.gen(function* () {
          const nowMs = yield* Clock.currentTimeMillis
          const ending = {
            ...endingOf(order, answer, usage, () => output.count()),
            timeToFirstTokenMs: firstTokenAtMs - order.startedAtMs,
            finishReason: broken === null ? finishReason : "error"
          }
          const candidate = order.continuation?.candidate ?? answer.candidate
          if (broken?._tag === "ProviderError") {
            markBroken(order, broken)
            stats.broke(candidate.provider.slug, candidate.offer.id)
            yield* circuits.broke(candidate, broken)
          } else if (broken === null && answer.source === "upstream") {
            yield* circuits.completed(candidate)
            const isTimed = order.continuation === null && nowMs > firstTokenAtMs && ending.usage.completionTokens > 1
            const speed = (ending.usage.completionTokens * 1000) / (nowMs - firstTokenAtMs)
            if (isTimed) stats.recordSpeed(candidate.provider.slug, candidate.offer.id, speed)
          }
          const error = broken === null ? null : streamError(order, broken)
          const errorType = error === null ? null : errorTypeOf(error)
          const settled = yield* settle(order, { ...ending, errorType }, usage)
          const last: CompletionEvent = { _tag: "Usage", usage: usageInfo(settled) }
          return error === null
            ? Arr.of(last)
            : Arr.make<Arr.NonEmptyArray<CompletionEvent>>({ _tag: "Failed", error }, last)
        })

        // One step for what would be five of `Stream`: every token takes them.
        return Stream.transformPull(events, (pull) => {
          let isOver = false
          const next: Pull.Pull<Arr.NonEmptyReadonlyArray<CompletionEvent>> = Effect.matchEffect(pull, {
            onSuccess: (chunk) => {
              const deltas = observe(chunk)
              return Arr.isReadonlyArrayNonEmpty(deltas) ? Effect.succeed(deltas) : next
            },
            onFailure: (error) => {
              if (!Cause.isDone(error)) broken = error
              isOver = true
              return finish
            }
          })
          return Effect.succeed(Effect.suspend(() => (isOver ? Cause.done() : next)))
        })
      })

      return Closing.of({
        onScopeClose: (order) =>
          onClose(Effect.suspend(() => (order.account.settled ? Effect.void : abandoned(order)))),
        onFailure: (order) => (self) =>
          self.pipe(
            Effect.tapError((error) => {
              if (order.attempts.length === 0) return meter.void(order)
              order.facts.generationId = order.generationId
              return Effect.ignore(failed(order, errorTypeOf(error)))
            }),
            // A bug of ours is no client that left: it is recorded as what it is, and nobody pays for it.
            Effect.tapDefect(() => {
              if (order.attempts.length === 0) return meter.void(order)
              order.facts.generationId = order.generationId
              return Effect.ignore(failed(order, "internal_error"))
            })
          ),
        whole,
        replay,
        metered,
        stream
      })
    })
  )
}

const noteUnbelieved = (order: Order, { candidate }: Ending, reported: TokenUsage) =>
  Effect.logWarning("a provider reports more tokens than the request allows; they were counted here").pipe(
    Effect.annotateLogs({
      provider: candidate?.provider.slug,
      model: candidate?.offer.id,
      generation: order.generationId,
      prompt_tokens: reported.promptTokens,
      completion_tokens: reported.completionTokens
    })
  )

/** The calls that were under way when the order was abandoned. */
const interruptedCalls = (order: Order) =>
  order.attempts.flatMap(({ errorType, model, provider, status }, at) => {
    const candidate = rankedAs(order, provider, model)
    return status === "cancelled" && errorType === null && candidate !== undefined ? [{ at, candidate }] : []
  })

/** Whether more than one provider or model was called; trying the same one again is no fallback. */
const fellBack = (order: Order): boolean =>
  new Set(order.attempts.map(({ model, provider }) => `${provider}|${model}`)).size > 1

const streamError = (order: Order, error: ProviderError | GatewayError): GatewayError =>
  error._tag === "GatewayError"
    ? error
    : gatewayError(
        error.reason._tag === "TimedOut"
          ? new ProvidersTimedOut({ attempts: order.attempts })
          : new ProvidersFailed({ attempts: order.attempts, retryAfterMs: null })
      )
