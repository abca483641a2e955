/**
 * An upstream that streams at a model's pace: the first token 50 ms after the request, then one
 * every 20 ms, 50 in total, then usage and `[DONE]`. Each token is the time of its sending, in ms
 * of the machine's monotonic clock, so that a reader on the same machine can compute its delay.
 * Arguments: its port; the number of tokens, if not 50; a pause in ms after each fifty.
 */
import { createServer, type ServerResponse } from "node:http"

const FIRST_MS = 50
const EVERY_MS = 20
const TOKENS = Number(process.argv[3] ?? 50)
const PAUSE_MS = Number(process.argv[4] ?? 0)

const head = `"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1790000000,"model":"model"`
const chunk = (delta: string, finish: string) =>
  `data: {${head},"choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]}\n\n`
const now = () => (Number(process.hrtime.bigint()) / 1e6).toFixed(3)

const stream = (response: ServerResponse): void => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.flushHeaders()
  let sent = 0
  const next = (): void => {
    if (response.destroyed) return
    if (sent === TOKENS) {
      response.write(chunk("{}", `"stop"`))
      const usage = `{"prompt_tokens":40,"completion_tokens":${TOKENS},"total_tokens":${40 + TOKENS}}`
      response.end(`data: {${head},"choices":[],"usage":${usage}}\n\ndata: [DONE]\n\n`)
      return
    }
    const role = sent === 0 ? `"role":"assistant",` : ""
    response.write(chunk(`{${role}"content":"<${now()}>"}`, "null"))
    sent++
    setTimeout(next, sent % 50 === 0 ? EVERY_MS + PAUSE_MS : EVERY_MS)
  }
  setTimeout(next, FIRST_MS)
}

createServer((request, response) => {
  request.resume()
  if (request.method === "POST") request.on("end", () => stream(response))
  else response.end()
}).listen(Number(process.argv[2]), "127.0.0.1")
