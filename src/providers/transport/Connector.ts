/**
 * Connections to providers, as undici makes them; an error that ends one says how much was read from it, as undici's own errors do. So a
 * kept connection that the other side has closed meanwhile is told from a provider that cannot be reached.
 */
import { type buildConnector } from "undici"
import { undici } from "./Undici.ts"

export const connectorOf = (connectMs: number, http2: boolean): buildConnector.connector => {
  const connect = undici().buildConnector({ timeout: connectMs, allowH2: http2 })
  return (options, callback) =>
    connect(options, (...result) => {
      const [, socket] = result
      socket?.on("error", (error: Error) => {
        if (!("socket" in error)) Object.assign(error, { socket: { bytesRead: socket.bytesRead } })
      })
      callback(...result)
    })
}
