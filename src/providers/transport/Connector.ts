/**
 * undici's connector for provider connections. An error that ends a socket carries the bytes read
 * from it, as undici's own errors do. This tells a kept connection that the server has closed from
 * an unreachable provider.
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
