/**
 * Clients that disconnect before the provider has reported usage. If the output can be counted, it
 * is counted and the call is aborted at once. The gateway keeps reading for a few seconds where
 * only the end of the answer shows the usage: a model with hidden reasoning, a whole reply, or an
 * answer that lacks only its usage. If the provider stays silent, the usage is estimated.
 */
import { Context, Duration, Effect, Fiber, Scope } from "effect"
import { type Batches } from "../../domain/runtime/Batches.ts"
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatEvent, type Members } from "../../domain/Chat.ts"
import { type UsageSource } from "../../domain/Generation.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { addFinalizer } from "../../domain/runtime/OnClose.ts"
import { countedUsage } from "./Outcome.ts"
import { estimateOf } from "./Estimate.ts"
import { type AttemptRecord } from "../request/AttemptRecord.ts"
import { hasVisibleOutput } from "../request/Reasoning.ts"
import { mediaOf } from "../request/RequestedClasses.ts"
import { findCandidate, type RequestPlan } from "../request/RequestPlan.ts"
import { type MeteredRequest } from "./Reservation.ts"
import { OutputCounter } from "../tokens/Tokens.ts"

/** How long a call is read after its client left. */
export const READ_ON_MS = 5_000
/** The reading stops at this many output tokens. */
const READ_ON_TOKENS = 1_000_000
/** The speed that is assumed of a model that was never measured, in tokens a second. */
const UNKNOWN_SPEED = 200
/** How much faster than its measured speed a model may have been. */
const SPEED_MARGIN = 2

/** The part of an answer that was received. */
export class ReceivedAnswer {
  readonly output = new OutputCounter()
  usage: TokenUsage | null = null
  /** What the provider reported beside the counts. */
  usageExtra: Members | undefined
  finishReason: string | null = null
  /** The end of the answer was received. */
  ended = false

  add(event: ChatEvent): void {
    if (event._tag === "End") {
      this.usage = event.usage
      this.usageExtra = event.usageExtra
      this.ended = true
      return
    }
    this.output.add(event.choices)
    for (const choice of event.choices) this.finishReason = choice.finish_reason ?? this.finishReason
  }
}

/** Reads the rest of an answer whose client has left. */
export const readToEnd = <E>(events: Batches<ChatEvent, E>, seen: ReceivedAnswer): Effect.Effect<void> =>
  events
    .forEach((batch) => {
      for (const event of batch) seen.add(event)
      return seen.output.bound() > READ_ON_TOKENS ? Effect.fail("enough") : Effect.void
    })
    .pipe(Effect.timeoutOption(Duration.millis(READ_ON_MS)), Effect.ignoreCause)

/**
 * Runs `call`, and lets it go on after the client has left if its usage is unknown until the end.
 * Its answer then goes to `settle`. Any other call is aborted with the request's scope.
 */
export const runPastDisconnect = <A, E>(
  request: MeteredRequest,
  call: Effect.Effect<A, E, Scope.Scope>,
  settle: (answer: A) => Effect.Effect<void>,
  onLeft: () => void
): Effect.Effect<A, E, Scope.Scope> =>
  Effect.contextWith((services: Context.Context<Scope.Scope>) => {
    const fiber = Effect.runForkWith(services)(call)
    const isRunning = () => fiber.pollUnsafe() === undefined
    const readOn = (): Effect.Effect<void> => {
      onLeft()
      if (request.log.record.calls === 0 && isRunning()) return Effect.void
      return Fiber.join(fiber).pipe(
        Effect.timeoutOption(Duration.millis(READ_ON_MS)),
        Effect.flatMap((answer) => (answer._tag === "None" ? Effect.void : settle(answer.value))),
        Effect.ignoreCause
      )
    }
    const added = addFinalizer(Context.get(services, Scope.Scope), () =>
      request.reservation.isSettled || !isOutputUnknown(request.plan, request.log.record)
        ? isRunning()
          ? Fiber.interrupt(fiber)
          : Effect.void
        : Effect.andThen(readOn(), Fiber.interrupt(fiber))
    )
    return Effect.flatMapEager(added, () => Fiber.join(fiber))
  })

/** Whether the output of the call so far is unknown. */
export const isOutputUnknown = (plan: RequestPlan, { produced }: AttemptRecord): boolean =>
  !hasVisibleOutput(plan) || (!plan.streamed && produced === null)

/** Whether a call can cost anything. */
export const isPriced = ({ ranked }: RequestPlan): boolean =>
  ranked.some(({ offer: { embeddings, pricing } }) => !embeddings && (pricing.prompt > 0 || pricing.completion > 0))

/**
 * The usage of a call whose end was not received: the prompt, the output that was received, and an
 * estimate of hidden output.
 */
export const estimatedUsage = (
  { plan, reservation }: Pick<MeteredRequest, "plan" | "reservation">,
  record: AttemptRecord,
  candidate: Candidate,
  knownTokens: number,
  nowMs: number,
  tokensPerSecond: number | null
): { readonly usage: TokenUsage; readonly usageSource: UsageSource } => {
  if (!isOutputUnknown(plan, record)) {
    return { usage: countedUsage(plan, record, candidate, knownTokens), usageSource: "counted" }
  }
  const seconds = Math.max(0, nowMs - plan.startedAtMs) / 1000
  const speed = tokensPerSecond === null ? UNKNOWN_SPEED : SPEED_MARGIN * tokensPerSecond
  const most = Math.min(
    estimateOf(plan, 0).outputTokens ?? 0,
    reservation.held.affordableTokens ?? Number.POSITIVE_INFINITY
  )
  const tokens = Math.min(most, Math.ceil(seconds * speed)) * plan.choices
  const usage = countedUsage(plan, record, candidate, Math.max(knownTokens, tokens))
  // Tokens that were not seen may be audio or images, if the request asked for these.
  const [media] = mediaOf(plan.request)
  const unseen = Math.max(0, usage.completionTokens - knownTokens)
  return {
    usage: media === undefined ? usage : { ...usage, rare: { ...usage.rare, [media]: unseen } },
    usageSource: "estimated"
  }
}

/** The calls that were running when the client left. */
export const interruptedCalls = (plan: RequestPlan, { attempts }: AttemptRecord) =>
  attempts.flatMap(({ errorType, model, provider, status }, at) => {
    const candidate = findCandidate(plan, provider, model)
    return status === "cancelled" && errorType === null && candidate !== undefined ? [{ at, candidate }] : []
  })
