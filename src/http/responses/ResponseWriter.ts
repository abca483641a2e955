/**
 * Writes a completion's events as those of the Responses API, numbered from 0. The first two tell
 * the response as it begins; they may be sent before a provider answers, and a silence is filled
 * with the second again, because clients do not count comments as a sign of life. The last event
 * has the whole response, and nothing follows it.
 */
import { Effect } from "effect"
import { type ModelResponse, type ResponseFault } from "../../api/Responses.ts"
import { type Members } from "../../domain/Chat.ts"
import { gatewayError, ProvidersFailed } from "../../domain/Errors.ts"
import { type CompletionEvent, type Head } from "../../gateway/request/Answer.ts"
import { responseError } from "../errors/ErrorResponse.ts"
import { membersOf } from "../messages/Blocks.ts"
import { type EventWriter } from "../sse/Sse.ts"
import {
  begunResponse,
  endedResponse,
  type Ending,
  endingOf,
  failedBy,
  nameOf,
  type ResponseForm,
  type ResponseName,
  storedResponse,
  suffixOf,
  unstored
} from "./Reply.ts"
import { ResponseItems } from "./ResponseItems.ts"

/** The end of a stream that was woven too much, or that ended without an end. */
const broken = () => responseError(gatewayError(new ProvidersFailed({ attempts: [], retryAfterMs: null })))

/** The events of one response, numbered. */
export class ResponseEvents {
  readonly #form: ResponseForm
  readonly #newName: () => ResponseName
  #name: ResponseName | null = null
  #begun: ModelResponse | null = null
  #next = 0

  /** `newName`: the name of a response that begins before its completion is known. */
  constructor(form: ResponseForm, newName: () => ResponseName) {
    this.#form = form
    this.#newName = newName
  }

  get form(): ResponseForm {
    return this.#form
  }

  /** The name of the response: the one that was told, or `name`. */
  named(name: ResponseName): ResponseName {
    return (this.#name ??= name)
  }

  get response(): ModelResponse {
    return (this.#begun ??= begunResponse((this.#name ??= this.#newName()), this.#form))
  }

  event(type: string, members: Members): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#next++, ...members })}\n\n`
  }

  /** The first events, once. */
  begin(): string {
    if (this.#next > 0) return ""
    const { response } = this
    return this.event("response.created", { response }) + this.event("response.in_progress", { response })
  }

  /** Fills a silence. */
  readonly keepAlive = (): string => this.begin() || this.event("response.in_progress", { response: this.response })

  /** The end of a response without a completion. */
  failed(error: ResponseFault): string {
    const told = { usage: null, endedAtMs: undefined, serviceTier: null, native: {} }
    const response = endedResponse(this.response, failedBy(error), [], told)
    return this.begin() + this.event("response.failed", { response })
  }
}

export class ResponseWriter implements EventWriter {
  readonly #events: ResponseEvents
  readonly #head: Head
  readonly #items: ResponseItems
  #out = ""
  #finishReason: string | null = null
  #serviceTier: unknown = null
  #error: ResponseFault | null = null
  #isEnded = false
  #later: Effect.Effect<string> | null = null

  constructor(head: Head, events: ResponseEvents) {
    this.#events = events
    this.#head = head
    this.#items = new ResponseItems(suffixOf(events.named(nameOf(head))), events.form.tools, (type, members) => {
      this.#out += events.event(type, members)
    })
  }

  write(event: CompletionEvent): string {
    if (this.#isEnded) return ""
    this.#out = this.#events.begin()
    switch (event._tag) {
      case "Choices":
        this.#serviceTier = event.extra?.["service_tier"] ?? this.#serviceTier
        for (const each of event.native ?? []) this.#items.takeNative(each)
        for (const choice of event.choices) {
          if (choice.index !== 0) continue
          if (event.native === undefined) this.#items.add(choice)
          this.#finishReason ??= choice.finish_reason
        }
        if (this.#items.isOverfull) this.#fail(broken(), null)
        break
      case "Failed":
        // The usage follows, and ends the response.
        this.#error = responseError(event.error)
        break
      case "Usage":
        if (this.#error === null) this.#finish(event)
        else this.#fail(this.#error, event)
    }
    return this.#out
  }

  /** The last event leaves once the response is stored. */
  later(): Effect.Effect<string> | null {
    const later = this.#later
    this.#later = null
    return later
  }

  end(): string {
    if (this.#isEnded) return ""
    this.#out = this.#events.begin()
    this.#fail(this.#error ?? broken(), null)
    return this.#out
  }

  #finish(settled: Extract<CompletionEvent, { readonly _tag: "Usage" }>): void {
    const ending = endingOf(this.#finishReason, this.#head)
    this.#items.finish(ending.status !== "completed")
    this.#end(ending, settled)
  }

  /** The open item has no end, so that no client takes it for whole. */
  #fail(error: ResponseFault, settled: Extract<CompletionEvent, { readonly _tag: "Usage" }> | null): void {
    this.#end(failedBy(error), settled)
  }

  #end(ending: Ending, settled: Extract<CompletionEvent, { readonly _tag: "Usage" }> | null): void {
    this.#isEnded = true
    const told = {
      usage: settled?.usage ?? null,
      endedAtMs: settled?.endedAtMs,
      serviceTier: this.#serviceTier,
      native: membersOf(settled?.native?.find(({ response }) => response !== undefined)?.["response"])
    }
    const response = endedResponse(this.#events.response, ending, this.#items.output, told)
    const last = (told: ModelResponse) => this.#events.event(`response.${ending.status}`, { response: told })
    const stored = storedResponse(response, this.#events.form)
    if (stored === null) this.#out += last(unstored(response))
    else this.#later = Effect.map(stored, last)
  }
}
