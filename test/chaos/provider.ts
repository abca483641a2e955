/**
 * A provider that notes when it works for whom: from a call's arrival to the last thing that it writes. A gateway holds a slot of the
 * key's concurrency for longer than that at both ends, so slots that are kept to never overlap here more than they may. A call that
 * is broken off says nothing: nobody knows for how long the gateway was on it.
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

export interface WatchingProvider {
  readonly url: string
  /** By the key whose id is in the prompt: how many calls it had at once at most. */
  readonly mostAtOnce: () => ReadonlyMap<string, number>
  readonly stop: () => Promise<void>
}

const usage = { prompt_tokens: PROMPT_TOKENS, completion_tokens: COMPLETION_TOKENS }

export const startProvider = async (): Promise<WatchingProvider> => {
  const spans = new Map<string, Array<Span>>()
  const server = createServer((request, response) => {
    const fromMs = performance.now()
    let text = ""
    request.setEncoding("utf8")
    request.on("data", (chunk: string) => (text += chunk))
    request.on("end", () => {
      const keyId = /key_[0-9a-f]+/.exec(text)?.[0] ?? ""
      const isStream = (JSON.parse(text) as { readonly stream?: boolean }).stream === true
      const done = (last: string): void => {
        const theirs = spans.get(keyId) ?? []
        spans.set(keyId, theirs)
        theirs.push({ fromMs, toMs: performance.now() })
        response.end(last)
      }
      let written = 0
      response.setHeader("content-type", isStream ? "text/event-stream" : "application/json")
      const timer = setInterval(() => {
        if (written++ === COMPLETION_TOKENS) {
          clearInterval(timer)
          done(
            isStream
              ? sse(chunkBody({}, "stop")) + sse(usageChunkBody(usage)) + DONE
              : JSON.stringify(chatBody({ content: " a".repeat(COMPLETION_TOKENS), usage }))
          )
        } else if (isStream) response.write(sse(chunkBody({ content: " a" })))
      }, CHUNK_EVERY_MS)
      response.on("close", () => clearInterval(timer))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    mostAtOnce: () => new Map([...spans].map(([keyId, theirs]) => [keyId, mostOf(theirs)])),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

/** An end comes before a beginning at the same instant. */
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
