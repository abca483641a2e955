/**
 * A provider that records when it works for which key: from the arrival of a call to its last
 * write. A gateway holds a concurrency slot for longer at both ends, so these periods never overlap
 * more than the limit allows. A call that breaks off is not recorded, because the gateway's time is
 * unknown.
 *
 * It also counts the tokens that it wrote for each call. The prompt says `call 17` and, for a slow
 * answer, `every 500 ms`.
 */
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { chatBody, chunkBody, DONE, sse, usageChunkBody } from "../support/upstream/Bodies.ts"

export const COMPLETION_TOKENS = 40
const PROMPT_TOKENS = 20
const CHUNK_EVERY_MS = 35

interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** The provider's count of a call. */
export interface Produced {
  readonly keyId: string
  /** How often this call arrived. */
  times: number
  tokens: number
}

export interface WatchingProvider {
  readonly url: string
  /** By call number. */
  readonly produced: ReadonlyMap<number, Produced>
  /** The most concurrent calls of each key, whose id is in the prompt. */
  readonly mostAtOnce: () => ReadonlyMap<string, number>
  readonly stop: () => Promise<void>
}

interface Asked {
  readonly stream?: boolean
  readonly max_tokens?: number
  readonly max_completion_tokens?: number
}

const numberIn = (text: string, pattern: RegExp): number | null => {
  const found = pattern.exec(text)?.[1]
  return found === undefined ? null : Number(found)
}

/**
 * With `namesCalls` it reports the call's number as the length of its prompt, so that a generation
 * identifies its call.
 */
export const startProvider = async ({ namesCalls }: { readonly namesCalls: boolean }): Promise<WatchingProvider> => {
  const produced = new Map<number, Produced>()
  const spans = new Map<string, Array<Span>>()
  const server = createServer((request, response) => {
    const fromMs = performance.now()
    let text = ""
    request.setEncoding("utf8")
    request.on("data", (chunk: string) => (text += chunk))
    request.on("end", () => {
      const keyId = /key_[0-9a-f]+/.exec(text)?.[0] ?? ""
      const asked = JSON.parse(text) as Asked
      const isStream = asked.stream === true
      const tokens = asked.max_completion_tokens ?? asked.max_tokens ?? COMPLETION_TOKENS
      const number = numberIn(text, /call (\d+)/) ?? 0
      const call = produced.get(number) ?? { keyId, times: 0, tokens: 0 }
      produced.set(number, call)
      call.times++
      const usage = { prompt_tokens: namesCalls ? number : PROMPT_TOKENS, completion_tokens: tokens }
      const done = (last: string): void => {
        const theirs = spans.get(keyId) ?? []
        spans.set(keyId, theirs)
        theirs.push({ fromMs, toMs: performance.now() })
        response.end(last)
      }
      let written = 0
      response.setHeader("content-type", isStream ? "text/event-stream" : "application/json")
      const timer = setInterval(
        () => {
          if (written++ === tokens) {
            clearInterval(timer)
            done(
              isStream
                ? sse(chunkBody({}, "stop")) + sse(usageChunkBody(usage)) + DONE
                : JSON.stringify(chatBody({ content: " a".repeat(tokens), usage }))
            )
          } else {
            call.tokens++
            if (isStream) response.write(sse(chunkBody({ content: " a" })))
          }
        },
        numberIn(text, /every (\d+) ms/) ?? CHUNK_EVERY_MS
      )
      response.on("close", () => clearInterval(timer))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    produced,
    mostAtOnce: () => new Map([...spans].map(([keyId, theirs]) => [keyId, mostOf(theirs)])),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

/** At the same instant, an end sorts before a beginning. */
const mostOf = (spans: ReadonlyArray<Span>): number => {
  const steps = spans.flatMap(({ fromMs, toMs }) => [
    { atMs: fromMs, step: 1 },
    { atMs: toMs, step: -1 }
  ])
  let [now, most] = [0, 0]
  for (const { step } of steps.toSorted((a, b) => a.atMs - b.atMs || a.step - b.step)) {
    now += step
    most = Math.max(most, now)
  }
  return most
}
