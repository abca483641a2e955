/** Logs once when the collector stops accepting spans, and once when it accepts them again. */
import { type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace-base"

type Done = Parameters<SpanExporter["export"]>[1]

export class ReportingExporter implements SpanExporter {
  readonly #next: SpanExporter
  readonly #report: (isFailing: boolean) => void
  #isFailing = false

  constructor(next: SpanExporter, report: (isFailing: boolean) => void) {
    this.#next = next
    this.#report = report
  }

  export(spans: Array<ReadableSpan>, done: Done): void {
    this.#next.export(spans, (result) => {
      const code: number = result.code
      const isFailing = code !== SUCCESS
      if (isFailing !== this.#isFailing) this.#report(isFailing)
      this.#isFailing = isFailing
      done(result)
    })
  }

  shutdown(): Promise<void> {
    return this.#next.shutdown()
  }
}

const SUCCESS = 0
