/**
 * A span that is recorded, and its form in OTLP. Error messages and stacks stay out of it, because
 * they may quote a prompt, an address or a key; the error type stays. It keeps no links: the
 * gateway makes none.
 */
import { Cause, type Context, type Exit, Inspectable, Option, type Tracer } from "effect"
import { type ProtobufWriter } from "./Protobuf.ts"

interface SpanEvent {
  readonly name: string
  readonly atNanos: bigint
  readonly attributes: Readonly<Record<string, unknown>>
}

type SpanOptions = Parameters<Tracer.Tracer["span"]>[0]

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
  readonly #onEnd: (span: RecordedSpan) => void
  #events: Array<SpanEvent> | null = null
  #status: Tracer.SpanStatus

  constructor(options: SpanOptions, traceId: string, spanId: string, onEnd: (span: RecordedSpan) => void) {
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
    this.#status = { _tag: "Ended", startTime: this.#status.startTime, endTime, exit }
    this.#onEnd(this)
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

const kinds: Readonly<Record<Tracer.SpanKind, number>> = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 }
const OK = 1
const ERROR = 2
/** Flags of OTLP: the trace is sampled, and it is known where the parent is. */
const SAMPLED = 0x101
const REMOTE_PARENT = 0x200

/** Writes a span that has ended as one of a scope's spans. */
export const writeSpan = (out: ProtobufWriter, span: RecordedSpan): void => {
  const { events, kind, name, names, parent, spanId, status, traceId, values } = span
  if (status._tag === "Started") return
  const start = out.begin(2)
  out.hex(1, traceId)
  out.hex(2, spanId)
  if (Option.isSome(parent)) out.hex(4, parent.value.spanId)
  out.text(5, name)
  out.integer(6, kinds[kind])
  out.fixed64(7, status.startTime)
  out.fixed64(8, status.endTime)
  for (const [at, attribute] of names.entries()) writeAttribute(out, 9, attribute, values[at])
  for (const event of events) {
    const from = out.begin(11)
    out.fixed64(1, event.atNanos)
    out.text(2, event.name)
    writeAttributes(out, 3, event.attributes)
    out.end(from)
  }
  writeStatus(out, status.exit)
  out.fixed32(16, Option.isSome(parent) && parent.value._tag === "ExternalSpan" ? SAMPLED | REMOTE_PARENT : SAMPLED)
  out.end(start)
}

const writeStatus = (out: ProtobufWriter, exit: Exit.Exit<unknown, unknown>): void => {
  if (exit._tag === "Failure" && Cause.hasInterruptsOnly(exit.cause)) return
  const start = out.begin(15)
  const [error] = exit._tag === "Failure" ? Cause.prettyErrors(exit.cause) : []
  if (error !== undefined) out.text(2, error.name === OURS ? error.message : error.name)
  out.integer(3, error === undefined ? OK : ERROR)
  out.end(start)
}

/** Writes attributes as the given field of the current message. */
export const writeAttributes = (
  out: ProtobufWriter,
  field: number,
  attributes: Readonly<Record<string, unknown>>
): void => {
  for (const name of Object.keys(attributes)) writeAttribute(out, field, name, attributes[name])
}

const writeAttribute = (out: ProtobufWriter, field: number, name: string, value: unknown): void => {
  const start = out.begin(field)
  out.text(1, name)
  writeValue(out, 2, value)
  out.end(start)
}

const writeValue = (out: ProtobufWriter, field: number, value: unknown): void => {
  const start = out.begin(field)
  if (typeof value === "string") out.text(1, value)
  else if (typeof value === "boolean") out.integer(2, Number(value))
  else if (typeof value === "number") {
    if (Number.isSafeInteger(value)) out.integer(3, value)
    else out.double(4, value)
  } else if (Array.isArray(value)) {
    const list = out.begin(5)
    for (const item of value) writeValue(out, 1, item)
    out.end(list)
  } else out.text(1, Inspectable.toStringUnknown(value))
  out.end(start)
}
