/** A client that reads only when the test says so, and keeps nothing. */
import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { type Gateway } from "./gateway.ts"

export interface Reader {
  readonly status: number
  /** Reads to the end. Resolves with the number of bytes once the answer ended properly in HTTP. */
  readonly readAll: () => Promise<{ readonly bytes: number; readonly tail: string }>
  readonly leave: () => void
}

const TAIL_BYTES = 1_000

/**
 * Requests a stream and reads its headers, but nothing of its body. Rejects if the connection fails
 * before.
 */
export const openReader = async (gateway: Gateway): Promise<Reader> => {
  const asking = request(`${gateway.app.url}${gateway.surface.path}`, {
    agent: false,
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json", "cache-control": "no-store" }
  })
  asking.end(JSON.stringify(gateway.body("stream")))
  const [response] = (await once(asking, "response")) as [IncomingMessage]
  return {
    status: response.statusCode ?? 0,
    leave: () => asking.destroy(),
    readAll: async () => {
      let bytes = 0
      let tail = Buffer.alloc(0)
      for await (const chunk of response as AsyncIterable<Buffer>) {
        bytes += chunk.length
        tail = Buffer.concat([tail, chunk]).subarray(-TAIL_BYTES)
      }
      return { bytes, tail: tail.toString("utf8") }
    }
  }
}
