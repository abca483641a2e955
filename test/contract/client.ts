/**
 * A client that sees a response arrive in pieces, sends a body at any speed, and can disconnect
 * midway.
 */
import { request } from "node:http"
import { connect } from "node:net"

export interface Opened {
  /** Undefined before the head of the response has arrived. */
  readonly status: () => number | undefined
  readonly header: (name: string) => string | undefined
  /** The text that has arrived so far. */
  readonly text: () => string
  /** Whether the response is complete. */
  readonly ended: () => boolean
  readonly hangUp: () => void
}

/** Posts JSON and returns at once. The response arrives later. */
export const open = (
  url: string,
  secret: string,
  body: unknown,
  more: Readonly<Record<string, string>> = {}
): Opened => {
  let status: number | undefined
  let headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>> = {}
  let text = ""
  let ended = false
  const sent = request(
    url,
    { method: "POST", headers: { authorization: `Bearer ${secret}`, "content-type": "application/json", ...more } },
    (response) => {
      status = response.statusCode
      headers = response.headers
      response.setEncoding("utf8")
      response.on("data", (piece: string) => void (text += piece))
      response.on("end", () => void (ended = true))
      response.on("error", () => undefined)
    }
  )
  sent.on("error", () => undefined)
  sent.end(JSON.stringify(body))
  return {
    status: () => status,
    header: (name) => {
      const value = headers[name]
      return typeof value === "string" ? value : undefined
    },
    text: () => text,
    ended: () => ended,
    hangUp: () => void sent.destroy()
  }
}

export interface Raw {
  readonly text: () => string
  readonly write: (bytes: string) => void
  readonly closed: () => boolean
  readonly hangUp: () => void
}

/** A bare socket to the server, for requests that HTTP clients cannot send. */
export const openRaw = (url: string): Raw => {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  let text = ""
  let closed = false
  socket.setEncoding("utf8")
  socket.on("data", (piece: string) => void (text += piece))
  socket.on("close", () => void (closed = true))
  socket.on("error", () => undefined)
  return {
    text: () => text,
    write: (bytes) => void socket.write(bytes),
    closed: () => closed,
    hangUp: () => void socket.destroy()
  }
}
