/**
 * Parses server-sent events: takes packets, returns the data of whole events. It accepts every line
 * ending, a byte order mark, comments, `retry:` lines, data over several lines, and characters
 * split between packets. It rejects an event above its limit. A last event without its blank line
 * still counts, because some servers close right after `data: [DONE]`. An event named `error` is
 * returned as an error object whatever its data, because only the name marks it as an error.
 */
import { StringDecoder } from "node:string_decoder"
import { makeParser } from "effect/encoding/Sse"
import { parseJson } from "../../domain/json/Json.ts"
import { TooLarge } from "../Provider.ts"
import { isJsonRecord } from "./Json.ts"

/** In UTF-16 code units: 1 MiB of ASCII. */
const EVENT_LIMIT = 1024 * 1024

export class SseFrames {
  readonly #decoder = new StringDecoder("utf8")
  #data: Array<string> = []
  #tooLarge = false
  readonly #limit: number
  readonly #parser: ReturnType<typeof makeParser>

  /** `limit`: of one event, in UTF-16 code units. */
  constructor(limit = EVENT_LIMIT) {
    this.#limit = limit
    this.#parser = makeParser(
      (event) => {
        if (event._tag !== "Event") return
        if (event.data.length > limit) this.#tooLarge = true
        this.#data.push(event.event === "error" ? errorOf(event.data) : event.data)
      },
      { maxEventSize: limit }
    )
  }

  /** The data of the events that `chunk` completes. */
  feed(chunk: Buffer): ReadonlyArray<string> | TooLarge {
    return this.#parse(this.#decoder.write(chunk))
  }

  /** The data of the rest, at the end of the stream. */
  end(): ReadonlyArray<string> | TooLarge {
    return this.#parse(`${this.#decoder.end()}\n\n`)
  }

  #parse(text: string): ReadonlyArray<string> | TooLarge {
    const error = this.#parser.feed(text)
    if (error !== undefined || this.#tooLarge) return new TooLarge({ limitBytes: this.#limit })
    const data = this.#data
    this.#data = []
    return data
  }
}

const errorOf = (data: string): string => {
  const body = parseJson(data)
  return isJsonRecord(body) && body["error"]
    ? data
    : JSON.stringify({ error: isJsonRecord(body) ? body : { message: data } })
}
