/**
 * Opens a provider's stream and reads to its first token, so that an error before it can still
 * become a fallback. The call has its own scope under the request's. A failed attempt is aborted at
 * once; a successful one lives until the request ends or it is closed.
 */
import * as Arr from "effect/Array"
import { Clock, Context, Duration, Effect, Exit, Pull, Scope } from "effect"
import { type Batch, Batches } from "../../domain/runtime/Batches.ts"
import { type Candidate, limitsOf } from "../../domain/Catalog.ts"
import { type ChatEvent } from "../../domain/Chat.ts"
import { addFinalizer } from "../../domain/runtime/OnClose.ts"
import { carriesToken } from "../../domain/Native.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { type AttemptLog } from "./AttemptLog.ts"
import { plausibleUsage } from "../reply/PlausibleUsage.ts"
import { type RoutedRequest } from "./RoutedRequest.ts"
import { type ChatCall, Malformed, type Provider, ProviderError, TimedOut } from "../../providers/Provider.ts"

export interface OpenedStream {
  /** Up to the first token. */
  readonly head: Batch<ChatEvent>
  /** The rest. Fails if the provider breaks off or is silent for too long. */
  readonly rest: Batches<ChatEvent, ProviderError>
  /** Aborts the call. */
  readonly close: Effect.Effect<void>
}

/**
 * `native`: the request in its own form, if it is sent so. `isLast`: no other provider is asked
 * after this one, so its first token has the rest of `total_ms` since the request began.
 */
export const openStream = (
  provider: Provider,
  candidate: Candidate,
  { native, request }: Pick<ChatCall, "native" | "request">,
  { log, plan }: Pick<RoutedRequest, "log" | "plan">,
  isLast: boolean
): Effect.Effect<OpenedStream, ProviderError, Scope.Scope> =>
  Effect.withFiber((fiber) => {
    const { firstTokenMs, totalMs } = limitsOf(candidate)
    const nowMs = fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
    const limitMs = Math.max(firstTokenMs, isLast ? totalMs - (nowMs - plan.startedAtMs) : 0)
    const scope = Scope.makeUnsafe()
    const added = addFinalizer(
      Context.getUnsafe(fiber.context, Scope.Scope),
      (exit) => Scope.closeUnsafe(scope, exit) ?? Effect.void
    )
    log.promptUsage(candidate, null)
    const promptUsage = (usage: TokenUsage) => {
      // Some servers send a zero first and the count at the end.
      if (usage.promptTokens === 0) return
      log.promptUsage(candidate, plausibleUsage(plan, null, candidate.offer, usage))
    }
    const leftOut = leftOutInto(log, candidate)
    const call = { request, native, offer: candidate.offer, limitMs, leftOut, promptUsage }
    const opened = Effect.flatMap(Scope.provide(provider.chatStream(call), scope), (events) =>
      readHead(provider, candidate, scope, events, [])
    )
    const limited = Effect.flatMapEager(added, () => withCallLimit(opened, limitMs, provider, "first_token"))
    return Effect.onExitPrimitive(limited, (exit) =>
      exit._tag === "Failure" ? Scope.closeUnsafe(scope, exit) : undefined
    )
  })

/** Reads on to the first token. `before`: what was read so far. */
const readHead = (
  provider: Provider,
  candidate: Candidate,
  scope: Scope.Closeable,
  events: Batches<ChatEvent, ProviderError>,
  before: ReadonlyArray<ChatEvent>
): Effect.Effect<OpenedStream, ProviderError> =>
  Pull.matchEffect(events.next(), {
    onSuccess: (batch) => {
      const head = Arr.appendAll(before, batch)
      return head.some(carriesToken)
        ? Effect.succeed({ head, rest: withinIdle(provider, candidate, events), close: Scope.close(scope, Exit.void) })
        : readHead(provider, candidate, scope, events, head)
    },
    onFailure: Effect.failCause,
    onDone: () =>
      Effect.fail(
        new ProviderError({ provider: provider.config.slug, reason: new Malformed({ detail: "empty stream" }) })
      )
  })

const withinIdle = (
  provider: Provider,
  candidate: Candidate,
  events: Batches<ChatEvent, ProviderError>
): Batches<ChatEvent, ProviderError> =>
  provider.keepsLimits === true
    ? events
    : Batches.fromPull(
        Effect.timeoutOrElse(events.pull, {
          duration: Duration.millis(limitsOf(candidate).idleMs),
          orElse: () => Effect.fail(timedOut(provider, "idle"))
        })
      )

/** Records in the log what a call leaves out of the request. */
export const leftOutInto = (log: AttemptLog, candidate: Candidate) => (members: ReadonlyArray<string>) =>
  log.leftOut(candidate, members)

/** A chat call, ended as timed out after `limitMs` unless the provider keeps the limit itself. */
export const withCallLimit = <A, R>(
  call: Effect.Effect<A, ProviderError, R>,
  limitMs: number,
  provider: Provider,
  phase: TimedOut["phase"]
): Effect.Effect<A, ProviderError, R> =>
  provider.keepsLimits === true ? call : withTimeout(call, limitMs, provider, phase)

/** The call, ended as timed out after `limitMs`. */
export const withTimeout = <A, R>(
  call: Effect.Effect<A, ProviderError, R>,
  limitMs: number,
  provider: Provider,
  phase: TimedOut["phase"]
): Effect.Effect<A, ProviderError, R> =>
  Effect.timeoutOrElse(call, {
    duration: Duration.millis(limitMs),
    orElse: () => Effect.fail(timedOut(provider, phase))
  })

const timedOut = (provider: Provider, phase: TimedOut["phase"]) =>
  new ProviderError({ provider: provider.config.slug, reason: new TimedOut({ phase }) })
