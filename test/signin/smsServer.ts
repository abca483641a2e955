/**
 * A server like Twilio's Messages resource: it checks account and token, stores the messages, and
 * can refuse.
 */
import { Effect, Queue } from "effect"
import { createServer } from "node:http"
import { listening } from "./listening.ts"

export interface SentMessage {
  readonly path: string
  readonly to: string
  readonly from: string
  readonly body: string
}

export const startSmsServer = Effect.gen(function* () {
  const arrived = yield* Queue.unbounded<SentMessage>()
  const credentials = `Basic ${Buffer.from("AC17:secret-token").toString("base64")}`
  const server = createServer((request, response) => {
    let text = ""
    request.setEncoding("utf8")
    request.on("data", (chunk: string) => (text += chunk))
    request.on("end", () => {
      const form = new URLSearchParams(text)
      const reply = (status: number, body: object) => {
        response.writeHead(status, { "content-type": "application/json" })
        response.end(JSON.stringify(body))
      }
      if (request.headers.authorization !== credentials) return reply(401, { code: 20003, message: "Authenticate" })
      const message = { to: form.get("To") ?? "", from: form.get("From") ?? "", body: form.get("Body") ?? "" }
      Queue.offerUnsafe(arrived, { path: request.url ?? "", ...message })
      if (message.to.endsWith("99")) return reply(400, { code: 21211, message: `${message.to} is not a valid number` })
      reply(201, { sid: "SM1", status: "queued" })
    })
  })
  const url = yield* listening(server)
  return { url, next: Queue.take(arrived) }
})
