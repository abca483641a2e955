/**
 * Removes error messages and stacks from spans before export, because they may quote a prompt, an
 * address or a key. The error type stays.
 */
import { type ReadableSpan, type Span, type SpanProcessor } from "@opentelemetry/sdk-trace-base"
import { type Context } from "@opentelemetry/api"

/**
 * Type of errors with which the gateway itself ends a span. Such a span names its error type as
 * status message.
 */
const OURS = "SpanFailure"

export class Scrubbing implements SpanProcessor {
  readonly #next: SpanProcessor

  constructor(next: SpanProcessor) {
    this.#next = next
  }

  onStart(span: Span, context: Context): void {
    this.#next.onStart(span, context)
  }

  onEnd(span: ReadableSpan): void {
    const types = span.events.flatMap(({ attributes, name }) => (name === EXCEPTION ? [attributes?.[TYPE]] : []))
    const kept = span.events.filter(({ attributes, name }) => name !== EXCEPTION || attributes?.[TYPE] !== OURS)
    for (const event of kept) {
      if (event.name === EXCEPTION) event.attributes = { [TYPE]: event.attributes?.[TYPE] ?? "Error" }
    }
    span.events.splice(0, span.events.length, ...kept)
    if (span.status.message !== undefined && types[0] !== OURS) span.status.message = String(types[0] ?? "Error")
    this.#next.onEnd(span)
  }

  shutdown(): Promise<void> {
    return this.#next.shutdown()
  }

  forceFlush(): Promise<void> {
    return this.#next.forceFlush()
  }
}

const EXCEPTION = "exception"
const TYPE = "exception.type"
