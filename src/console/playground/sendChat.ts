/**
 * Sends a chat request and reports its progress. A failure during the stream is reported together
 * with the text before it.
 */
import { type ErrorBody } from "../../api/Failure.ts"
import { type UsageInfo } from "../../domain/Chat.ts"
import { asFailure, Failure, failureOf, send } from "../client.ts"
import { readEvents } from "../sse.ts"

export interface Answer {
  readonly state: "waiting" | "coming" | "ended" | "stopped"
  readonly text: string
  readonly reasoning: string
  readonly status: number | null
  readonly headers: ReadonlyArray<readonly [string, string]>
  readonly usage: UsageInfo | null
  readonly finishReason: string | null
  readonly failure: Failure | null
  readonly generationId: string | null
  /** By this page's clock, in milliseconds. */
  readonly firstTokenMs: number | null
  readonly totalMs: number | null
}

const waiting: Answer = {
  state: "waiting",
  text: "",
  reasoning: "",
  status: null,
  headers: [],
  usage: null,
  finishReason: null,
  failure: null,
  generationId: null,
  firstTokenMs: null,
  totalMs: null
}

interface MessagePart {
  readonly content?: string | null
  readonly reasoning?: string | null
}

/** The parts of a chunk or of a whole reply that the playground reads. */
interface Piece {
  readonly choices?: ReadonlyArray<{
    readonly delta?: MessagePart
    readonly message?: MessagePart
    readonly finish_reason?: string | null
  }>
  readonly usage?: UsageInfo | null
  readonly error?: ErrorBody
}

const grown = (before: Answer, { choices = [], error, usage }: Piece): Answer => {
  const [choice] = choices
  const part = choice?.delta ?? choice?.message
  return {
    ...before,
    state: "coming",
    text: before.text + (part?.content ?? ""),
    reasoning: before.reasoning + (part?.reasoning ?? ""),
    usage: usage ?? before.usage,
    finishReason: choice?.finish_reason ?? before.finishReason,
    failure: error === undefined ? before.failure : new Failure(before.status ?? 0, error)
  }
}

interface Asked {
  readonly body: unknown
  readonly key: string
  readonly fresh: boolean
  readonly signal: AbortSignal
  readonly onAnswer: (answer: Answer) => void
}

export const ask = async ({ body, fresh, key, onAnswer, signal }: Asked): Promise<void> => {
  const begun = performance.now()
  let answer = waiting
  const show = (next: Partial<Answer>): void => {
    const hadText = answer.text !== "" || answer.reasoning !== ""
    answer = { ...answer, ...next }
    const hasText = answer.text !== "" || answer.reasoning !== ""
    if (!hadText && hasText) answer = { ...answer, firstTokenMs: performance.now() - begun }
    onAnswer(answer)
  }
  show({})
  try {
    const response = await send("/v1/chat/completions", {
      body,
      key,
      signal,
      ...(fresh ? { headers: { "cache-control": "no-cache" } } : {})
    })
    show({
      status: response.status,
      headers: [...response.headers].sort(([a], [b]) => (a < b ? -1 : 1)),
      generationId: response.headers.get("x-generation-id")
    })
    if (!response.ok) show({ failure: await failureOf(response) })
    else if (response.headers.get("content-type")?.startsWith("text/event-stream") === true && response.body !== null) {
      await readEvents(response.body, (data) => {
        if (data !== "[DONE]") show(grown(answer, JSON.parse(data) as Piece))
      })
    } else show(grown(answer, (await response.json()) as Piece))
    show({ state: "ended", totalMs: performance.now() - begun })
  } catch (thrown) {
    const totalMs = performance.now() - begun
    if (signal.aborted) show({ state: "stopped", totalMs })
    else show({ state: "ended", failure: asFailure(thrown), totalMs })
  }
}
