/**
 * Continues a stream whose provider broke off or went silent in the middle. Another provider of the
 * same model that can continue a trailing assistant message (`prefill`) gets the text so far, and
 * its text is joined on without loss or repetition. Only plain text is continued: no tool calls,
 * log probabilities, several choices or answers in a fixed format. Every call is on the receipt and
 * is charged at its own prices.
 */
import { isReadonlyArrayNonEmpty } from "effect/Array"
import { Cause, Effect } from "effect"
import { type Batch, Batches } from "../../domain/runtime/Batches.ts"
import { type Candidate } from "../../domain/Catalog.ts"
import { type ChatEvent, type ChatRequest, type ChoiceDelta, outputLimit } from "../../domain/Chat.ts"
import { leavesTextOpen } from "../../domain/Native.ts"
import { type ProviderError } from "../../providers/Provider.ts"
import { abortedCharge, type Charge } from "../request/AttemptRecord.ts"
import { type Failure } from "./FailurePolicy.ts"
import { ContinuationSeam } from "./ContinuationSeam.ts"
import { type OpenedStream } from "./OpenedStream.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"
import { type RoutedRequest } from "./RoutedRequest.ts"
import { limitOutput } from "./MaxTokens.ts"
import { PromptTokens } from "../../domain/PromptTokens.ts"
import { countText } from "../tokens/Tokens.ts"

/** The most text that is kept for a continuation, in characters. */
const KEPT_CHARACTERS = 1_048_576

/** Whether the request's answer can be continued. */
export const isContinuable = ({ choices, native, request }: RequestPlan<ChatRequest>): boolean =>
  choices === 1 &&
  (native?.only ?? null) === null &&
  request.logprobs !== true &&
  (request.response_format?.["type"] ?? "text") === "text" &&
  (request.modalities ?? []).every((modality) => modality === "text")

/** The candidates that can continue a stream of `candidate`. */
export const successors = (candidate: Candidate, others: ReadonlyArray<Candidate>): Array<Candidate> =>
  others.filter(
    ({ offer, provider }) =>
      offer.prefill && offer.id === candidate.offer.id && provider.slug !== candidate.provider.slug
  )

/** What the client has received, as far as a continuation needs it. */
class Sent {
  readonly #text: Array<string> = []
  #characters = 0
  /** Text and reasoning of the current call. */
  #produced: Array<string> = []
  /** The answer contains parts that cannot be continued, or has ended. */
  #closed = false
  readonly #keepsReasoning: boolean

  /** `keepsReasoning`: an answer with reasoning is not continued. */
  constructor(keepsReasoning: boolean) {
    this.#keepsReasoning = keepsReasoning
  }

  add(events: ReadonlyArray<ChatEvent>): void {
    for (const event of events) {
      if (event._tag === "End") this.#closed = true
      else {
        if (event.native?.every(leavesTextOpen) === false) this.#closed = true
        for (const choice of event.choices) this.#take(choice)
      }
    }
  }

  /** The text to continue; null if it cannot be continued. */
  get text(): string | null {
    const text = this.#closed ? "" : this.#text.join("")
    return text.trim() === "" ? null : text
  }

  /** The tokens that the current call produced. */
  get producedTokens(): number {
    return countText(this.#produced.join(""))
  }

  nextCall(): void {
    this.#produced = []
  }

  #take({ delta, finish_reason: finishReason }: ChoiceDelta): void {
    if (typeof delta.reasoning === "string") this.#produced.push(delta.reasoning)
    if (this.#keepsReasoning && (delta.reasoning || delta["reasoning_details"])) this.#closed = true
    if (typeof delta.content === "string") {
      this.#text.push(delta.content)
      this.#produced.push(delta.content)
      this.#characters += delta.content.length
    }
    const isCall = (delta.tool_calls?.length ?? 0) > 0 || Boolean(delta["function_call"])
    if (finishReason !== null || delta.refusal || isCall || delta["audio"]) this.#closed = true
    if (this.#characters > KEPT_CHARACTERS) this.#closed = true
  }
}

export interface Continuing {
  readonly request: RoutedRequest<ChatRequest>
  readonly candidate: Candidate
  readonly opened: OpenedStream
  /** The next candidate that is asked to continue; undefined: there is none. */
  readonly nextCandidate: () => Candidate | undefined
  readonly open: (candidate: Candidate, request: ChatRequest) => Effect.Effect<OpenedStream, Failure>
  /** Called for every call that broke off and was continued. */
  readonly broke: (candidate: Candidate, error: ProviderError) => Effect.Effect<void>
}

/**
 * The rest of the stream after its head. Fails with the last provider's error if the stream is not
 * continued.
 */
export const continueStream = ({
  broke,
  candidate,
  nextCandidate,
  open,
  opened,
  request: { budget, log, plan }
}: Continuing): Batches<ChatEvent, ProviderError> => {
  const sent = new Sent(plan.keepsReasoning === true)
  sent.add(opened.head)
  /** `producedTokens`: of the calls before, which are part of its prompt. */
  let current = { candidate, producedTokens: 0, close: opened.close }

  /** The charge for the call that broke off, if another continues it. */
  const chargeSoFar = (promptTokens: number): Charge =>
    abortedCharge(log.record, current.candidate, promptTokens + current.producedTokens, sent.producedTokens)

  const goOn = Effect.fnUntraced(function* (error: ProviderError) {
    const text = sent.text
    if (text === null || error.reason._tag === "Rejected") return yield* error
    const at = log.breakStream(error)
    plan.trace?.broke(at, log.record.attempts[at])
    const ownTokens = yield* plan.prompt.count()
    const charged = chargeSoFar(ownTokens)
    const producedTokens = countText(text)
    const promptTokens = ownTokens + producedTokens
    while (true) {
      const next = nextCandidate()
      if (next === undefined) return yield* error
      const joint = new ContinuationSeam(text)
      const request = requestFrom({ budget, plan }, next, joint.text, producedTokens)
      if (request === null || !(yield* budget.hold(next, PromptTokens.counted(promptTokens)))) return yield* error
      const result = yield* Effect.result(open(next, request))
      if (result._tag === "Failure") continue
      yield* current.close
      log.charge(charged, at)
      yield* broke(charged.candidate, error)
      log.continued({ candidate: next, promptTokens, producedTokens })
      const { close, head, rest } = result.success
      current = { candidate: next, producedTokens, close }
      sent.nextCall()
      const joined = rest.after(head).map((events) => {
        const kept = joinedEvents(events, joint)
        return isReadonlyArrayNonEmpty(kept) ? kept : null
      })
      events = continued(joined)
      return yield* joined.pull
    }
  })

  const note = (batch: Batch<ChatEvent>) => {
    sent.add(batch)
    return batch
  }
  const continued = (call: Batches<ChatEvent, ProviderError>): Batches<ChatEvent, ProviderError> =>
    call.through(note, (end) => (Cause.isDone(end) ? Effect.fail(end) : Effect.map(goOn(end), note)))
  /** Those of the current call. */
  let events = continued(opened.rest)
  return new Batches(
    () => events.ready(),
    () => events.read()
  )
}

const joinedEvents = (events: ReadonlyArray<ChatEvent>, joint: ContinuationSeam): Array<ChatEvent> =>
  events.flatMap((event): ReadonlyArray<ChatEvent> => {
    if (event._tag === "End") {
      const held = joint.flush()
      const late: ChatEvent = {
        _tag: "Choices",
        choices: [{ index: 0, delta: { content: held }, finish_reason: null }]
      }
      return held === "" ? [event] : [late, event]
    }
    const choices = event.choices.flatMap((choice) => joinedChoice(choice, joint))
    return choices.length === 0 ? [] : [{ ...event, choices }]
  })

const joinedChoice = (choice: ChoiceDelta, joint: ContinuationSeam): ReadonlyArray<ChoiceDelta> => {
  // Its thoughts are numbered anew and would be joined to those of the call that broke.
  const { content, reasoning_details: _details, role: _role, ...delta } = choice.delta
  const isLast = choice.finish_reason !== null || (delta.tool_calls?.length ?? 0) > 0
  const text = (typeof content === "string" ? joint.take(content) : "") + (isLast ? joint.flush() : "")
  if (text === "" && choice.finish_reason === null && Object.values(delta).every((member) => !member)) return []
  return [{ ...choice, delta: text === "" ? delta : { ...delta, content: text } }]
}

/** The request for the rest of the answer; null if nothing is left to produce. */
const requestFrom = (
  { budget, plan }: Pick<RoutedRequest<ChatRequest>, "budget" | "plan">,
  candidate: Candidate,
  text: string,
  producedTokens: number
): ChatRequest | null => {
  const { request } = plan
  const limits = [outputLimit(request), budget.affordableTokens].map((limit) => limit ?? Number.POSITIVE_INFINITY)
  const left = Math.min(...limits) - producedTokens
  if (left < 1) return null
  const bound = Number.isFinite(left) ? left : null
  return limitOutput({ ...request, messages: withPrefix(request.messages, text) }, candidate, bound)
}

/**
 * The conversation with the text so far as its last message. If the client itself sent the start of
 * the answer, that message is extended.
 */
const withPrefix = (messages: ChatRequest["messages"], text: string): ChatRequest["messages"] => {
  const last = messages.at(-1)
  return last?.role === "assistant" && typeof last.content === "string" && !last.tool_calls
    ? [...messages.slice(0, -1), { ...last, content: last.content + text }]
    : [...messages, { role: "assistant", content: text }]
}
