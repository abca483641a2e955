/**
 * A span that is recorded, and its form in OTLP. Error messages and stacks stay out of it, because
 * they may quote a prompt, an address or a key; the error type stays. It keeps no links: the
 * gateway makes none.
 */
import { Cause, type Context, type Exit, Option, type Tracer } from "effect"
import {
  type AnyValue,
  entriesToAttributes,
  type KeyValue,
  unknownToAttributeValue
} from "effect/observability/OtlpResource"
import { type ScopeSpan } from "effect/observability/OtlpTracer"

interface SpanEvent {
  readonly name: string
  readonly atNanos: bigint
  readonly attributes: Readonly<Record<string, unknown>>
}

type SpanOptions = Parameters<Tracer.Tracer["span"]>[0]
type EndedStatus = Extract<Tracer.SpanStatus, { readonly _tag: "Ended" }>

/** Takes a span that has ended. */
export type OnEnd = (span: RecordedSpan, status: EndedStatus) => void

export class RecordedSpan implements Tracer.Span {
  readonly _tag = "Span"
  readonly sampled = true
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parent: Option.Option<Tracer.AnySpan>
  readonly annotations: Context.Context<never>
  readonly links: Array<Tracer.SpanLink>
  readonly kind: Tracer.SpanKind
  /** Attributes in two lists: a map of them takes four times the memory. */
  readonly names: Array<string> = []
  readonly values: Array<unknown> = []
  readonly #onEnd: OnEnd
  #events: Array<SpanEvent> | null = null
  #status: Tracer.SpanStatus

  constructor(options: SpanOptions, traceId: string, spanId: string, onEnd: OnEnd) {
    this.name = options.name
    this.traceId = traceId
    this.spanId = spanId
    this.parent = options.parent
    this.annotations = options.annotations
    this.links = options.links
    this.kind = options.kind
    this.#status = { _tag: "Started", startTime: options.startTime }
    this.#onEnd = onEnd
  }

  get attributes(): ReadonlyMap<string, unknown> {
    return new Map(this.names.map((name, at) => [name, this.values[at]]))
  }

  get status(): Tracer.SpanStatus {
    return this.#status
  }

  get events(): ReadonlyArray<SpanEvent> {
    return this.#events ?? []
  }

  attribute(name: string, value: unknown): void {
    if (this.#status._tag === "Ended") return
    const known = this.names.indexOf(name)
    if (known === -1) this.names.push(name)
    this.values[known === -1 ? this.values.length : known] = value
  }

  event(name: string, atNanos: bigint, attributes: Readonly<Record<string, unknown>> = {}): void {
    if (this.#status._tag === "Started") (this.#events ??= []).push({ name, atNanos, attributes })
  }

  addLinks(links: ReadonlyArray<Tracer.SpanLink>): void {
    if (this.#status._tag === "Started") this.links.push(...links)
  }

  end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
    if (this.#status._tag === "Ended") return
    if (exit._tag === "Failure") this.#failed(exit.cause, endTime)
    const ended: EndedStatus = { _tag: "Ended", startTime: this.#status.startTime, endTime, exit }
    this.#status = ended
    this.#onEnd(this, ended)
  }

  #failed(cause: Cause.Cause<unknown>, atNanos: bigint): void {
    if (Cause.hasInterruptsOnly(cause)) return this.attribute("effect.fiber.interrupted", true)
    for (const { name } of Cause.prettyErrors(cause)) {
      if (name !== OURS) this.event("exception", atNanos, { "exception.type": name })
    }
  }
}

/**
 * Type of errors with which the gateway itself ends a span. Such a span names its error type as
 * status message.
 */
const OURS = "SpanFailure"

type LibrarySpan = ScopeSpan["spans"][number]

/** A span of OTLP. The library's type lacks `flags`, its encoder does not. */
export interface OtlpSpan extends LibrarySpan {
  readonly flags: number
}

const kinds: Readonly<Record<Tracer.SpanKind, number>> = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 }
const UNSET = 0
const OK = 1
const ERROR = 2
/** Flags of OTLP: the trace is sampled, and it is known where the parent is. */
const SAMPLED = 0x101
const REMOTE_PARENT = 0x200

/** The form of a span in OTLP. It keeps neither the parent nor the result in memory. */
export const otlpSpan = (
  { events, kind, name, names, parent, spanId, traceId, values }: RecordedSpan,
  { endTime, exit, startTime }: EndedStatus
): OtlpSpan => ({
  traceId,
  spanId,
  parentSpanId: Option.isSome(parent) ? parent.value.spanId : undefined,
  name,
  kind: kinds[kind],
  startTimeUnixNano: String(startTime),
  endTimeUnixNano: String(endTime),
  attributes: names.map((key, at) => ({ key, value: unknownToAttributeValue(values[at]) })),
  droppedAttributesCount: 0,
  events: events.map(({ atNanos, attributes, name: event }) => ({
    name: event,
    timeUnixNano: String(atNanos),
    attributes: entriesToAttributes(Object.entries(attributes)),
    droppedAttributesCount: 0
  })),
  droppedEventsCount: 0,
  links: [],
  droppedLinksCount: 0,
  status: statusOf(exit),
  flags: Option.isSome(parent) && parent.value._tag === "ExternalSpan" ? SAMPLED | REMOTE_PARENT : SAMPLED
})

const statusOf = (exit: Exit.Exit<unknown, unknown>): OtlpSpan["status"] => {
  if (exit._tag === "Success") return { code: OK }
  if (Cause.hasInterruptsOnly(exit.cause)) return { code: UNSET }
  const [error] = Cause.prettyErrors(exit.cause)
  return error === undefined ? { code: OK } : { code: ERROR, message: error.name === OURS ? error.message : error.name }
}

/** Estimated bytes of a value, an event, or what every span has, without texts. */
const PART_BYTES = 32

/** Estimated bytes of a span, in memory and encoded: above all those of its texts. */
export const bytesOfSpan = ({ attributes, events, name }: OtlpSpan): number => {
  let bytes = 4 * PART_BYTES + Buffer.byteLength(name) + bytesOfAttributes(attributes)
  for (const event of events) bytes += PART_BYTES + event.name.length + bytesOfAttributes(event.attributes)
  return bytes
}

const bytesOfAttributes = (attributes: ReadonlyArray<KeyValue>): number => {
  let bytes = 0
  for (const { key, value } of attributes) bytes += key.length + bytesOfValue(value)
  return bytes
}

const bytesOfValue = ({ arrayValue, stringValue }: AnyValue): number => {
  let bytes = PART_BYTES + Buffer.byteLength(stringValue ?? "")
  for (const value of arrayValue?.values ?? []) bytes += bytesOfValue(value)
  return bytes
}
