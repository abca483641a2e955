/**
 * What a provider said, without what it repeats of the request: the receipt, the log and the trace
 * hold no prompt.
 */
import { ProviderError } from "../../providers/Provider.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"

/** Of a longer request, the beginning and the end are compared. */
const LONGEST_COMPARED = 200_000
/** Words in a row that are taken for a quote, and the length from which one word is. */
const PHRASE = 3
const LONG_WORD = 12

const withoutEcho = (words: string, { request }: RequestPlan<unknown>): string => {
  const asked = textOf(request)
  const parts = words.split(" ")
  const isEcho = parts.map((part) => part.length >= LONG_WORD && asked.includes(part))
  for (let at = 0; at + PHRASE <= parts.length; at++) {
    if (!asked.includes(parts.slice(at, at + PHRASE).join(" "))) continue
    for (let next = at; next < at + PHRASE; next++) isEcho[next] = true
  }
  return parts.map((part, at) => (isEcho[at] === true ? "…" : part)).join(" ")
}

/** The error without what it repeats of the request. */
export const errorWithoutEcho = (error: ProviderError, plan: RequestPlan<unknown>): ProviderError =>
  error.words === undefined
    ? error
    : new ProviderError({
        provider: error.provider,
        reason: error.reason,
        words: withoutEcho(error.words, plan)
      })

const textOf = (request: unknown): string => {
  const { input, messages, tools } = Object(request)
  const text = JSON.stringify([messages, input, tools])
  if (text.length <= 2 * LONGEST_COMPARED) return text
  return `${text.slice(0, LONGEST_COMPARED)} ${text.slice(-LONGEST_COMPARED)}`
}
