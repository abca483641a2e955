/**
 * HTTP for process tests: each request on its own connection, responses byte for byte, and streams
 * that can be read while they run and be broken off.
 */
import { once } from "node:events"
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request as open } from "node:http"

export interface Sent {
  /** `POST` with a body, else `GET`. */
  readonly method?: string
  /** Sent as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** `authorization: Bearer …`. */
  readonly key?: string
  /** The time limit of the whole exchange, in milliseconds. Default: 30 s. */
  readonly limitMs?: number
}

export interface Answered {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** A response that is still arriving. */
export interface Streaming {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The text so far, once it includes `text`. Rejects when the stream ends or breaks before. */
  readonly until: (text: string) => Promise<string>
  /** The whole text, once the response has ended regularly. Rejects when it broke. */
  readonly ended: Promise<string>
  /** Closes the connection. */
  readonly leave: () => void
}

const start = (url: string, { body, headers, key, limitMs = 30_000, method }: Sent): ClientRequest => {
  const request = open(url, {
    agent: false,
    method: method ?? (body === undefined ? "GET" : "POST"),
    signal: AbortSignal.timeout(limitMs),
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...headers
    }
  })
  request.end(body === undefined ? undefined : JSON.stringify(body))
  return request
}

/** Rejects when the connection fails before the response's headers arrive. */
export const openStream = async (url: string, sent: Sent = {}): Promise<Streaming> => {
  const request = start(url, sent)
  const [response] = (await once(request, "response")) as [IncomingMessage]
  let text = ""
  const watchers = new Set<() => void>()
  const { promise: ended, resolve, reject } = Promise.withResolvers<string>()
  ended.catch(() => undefined)
  response.setEncoding("utf8")
  response.on("data", (chunk: string) => {
    text += chunk
    for (const watcher of watchers) watcher()
  })
  response.once("end", () => resolve(text))
  response.once("error", reject)
  response.once("close", () => reject(new Error(`the answer was cut off after: ${text}`)))
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    ended,
    until: (awaited) => {
      const seen = new Promise<string>((seen) => {
        const watcher = (): void => {
          if (!text.includes(awaited)) return
          watchers.delete(watcher)
          seen(text)
        }
        watchers.add(watcher)
        watcher()
      })
      const over = ended.then((whole) => {
        if (whole.includes(awaited)) return whole
        throw new Error(`the answer ended without ${awaited}: ${whole}`)
      })
      return Promise.race([seen, over])
    },
    leave: () => request.destroy()
  }
}

/**
 * Sends a request and reads the whole response. Rejects when the connection is refused or breaks.
 */
export const send = async (url: string, sent: Sent = {}): Promise<Answered> => {
  const { ended, headers, status } = await openStream(url, sent)
  return { status, headers, text: await ended }
}
