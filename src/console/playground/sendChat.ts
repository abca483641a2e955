/**
 * Sends a chat request and reports its progress. A failure during the stream is reported together
 * with the text before it. Reports are spaced by what showing them costs, so that a long answer
 * does not hold the page up.
 */
import { type ErrorBody } from "../../api/Failure.ts"
import { type UsageInfo } from "../../domain/Chat.ts"
import { asFailure, Failure, failureOf, send } from "../client.ts"
import { readEvents } from "../sse.ts"
import { type Fault, type Reply } from "./thread.ts"

export const waitingFor = (model: string): Reply => ({
  model,
  state: "waiting",
  text: "",
  reasoning: "",
  provider: null,
  headers: [],
  usage: null,
  finishReason: null,
  fault: null,
  generationId: null,
  firstTokenMs: null,
  totalMs: null
})

interface MessagePart {
  readonly content?: string | null
  readonly reasoning?: string | null
  readonly refusal?: string | null
}

/** The parts of a chunk or of a whole reply that the playground reads. */
interface Piece {
  readonly provider?: string
  readonly choices?: ReadonlyArray<{
    readonly delta?: MessagePart
    readonly message?: MessagePart
    readonly finish_reason?: string | null
  }>
  readonly usage?: UsageInfo | null
  readonly error?: ErrorBody
}

const faultOf = ({ body, detail, message, status }: Failure): Fault => ({ status, message, body, detail })

const grown = (before: Reply, { choices = [], error, provider, usage }: Piece): Reply => {
  const [choice] = choices
  const part = choice?.delta ?? choice?.message
  return {
    ...before,
    state: "coming",
    text: before.text + (part?.content ?? part?.refusal ?? ""),
    reasoning: before.reasoning + (part?.reasoning ?? ""),
    provider: provider ?? before.provider,
    usage: usage ?? before.usage,
    finishReason: choice?.finish_reason ?? before.finishReason,
    fault: error === undefined ? before.fault : faultOf(new Failure(200, error))
  }
}

const SOONEST_MS = 40
const LATEST_MS = 1_000

/** Reports the newest reply, with pauses of four times what the last report took. */
const paced = (onReply: (reply: Reply) => void) => {
  let timer: ReturnType<typeof setTimeout> | undefined
  let costMs = 0
  return (reply: Reply, isLast: boolean, newest: () => Reply): void => {
    if (isLast) {
      clearTimeout(timer)
      onReply(reply)
    } else {
      timer ??= setTimeout(
        () => {
          timer = undefined
          const begun = performance.now()
          onReply(newest())
          setTimeout(() => (costMs = performance.now() - begun))
        },
        Math.min(LATEST_MS, Math.max(SOONEST_MS, 4 * costMs))
      )
    }
  }
}

interface Asked {
  readonly body: Readonly<Record<string, unknown>>
  readonly model: string
  readonly key: string
  readonly fresh: boolean
  readonly signal: AbortSignal
  readonly onReply: (reply: Reply) => void
}

export const ask = async ({ body, fresh, key, model, onReply, signal }: Asked): Promise<void> => {
  const begun = performance.now()
  let reply = waitingFor(model)
  const report = paced(onReply)
  const show = (next: Partial<Reply>, isLast = false): void => {
    const hadText = reply.text !== "" || reply.reasoning !== ""
    reply = { ...reply, ...next }
    const hasText = reply.text !== "" || reply.reasoning !== ""
    if (!hadText && hasText) reply = { ...reply, firstTokenMs: performance.now() - begun }
    report(reply, isLast, () => reply)
  }
  const end = (next: Partial<Reply>): void => show({ ...next, totalMs: performance.now() - begun }, true)
  try {
    const response = await send("/v1/chat/completions", {
      body,
      key,
      signal,
      ...(fresh ? { headers: { "cache-control": "no-cache" } } : {})
    })
    show({
      headers: [["status", String(response.status)], ...[...response.headers].sort(([a], [b]) => (a < b ? -1 : 1))],
      provider: response.headers.get("x-tollgate-provider"),
      generationId: response.headers.get("x-generation-id")
    })
    if (!response.ok) return end({ state: "ended", fault: faultOf(await failureOf(response)) })
    if (response.headers.get("content-type")?.startsWith("text/event-stream") === true && response.body !== null) {
      await readEvents(response.body, (data) => {
        if (data !== "[DONE]") show(grown(reply, JSON.parse(data) as Piece))
      })
    } else show(grown(reply, (await response.json()) as Piece))
    end({ state: "ended" })
  } catch (thrown) {
    if (signal.aborted) end({ state: "stopped" })
    else end({ state: "ended", fault: faultOf(asFailure(thrown)) })
  }
}
