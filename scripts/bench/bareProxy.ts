/**
 * The floor that Node allows: node:http in front, an undici pool behind, and nothing between them.
 * It reads a request, sends it on, and passes the reply back as it comes, streams included. No
 * keys, no limits, no parsing. Arguments: its port, the upstream's origin, the path that begins
 * `/stream` goes to the second origin.
 */
import { createServer } from "node:http"
import { Pool } from "undici"

const [port, upstream, streaming] = process.argv.slice(2)
if (upstream === undefined || streaming === undefined) throw new Error("arguments: port, upstream, streaming upstream")

// As many connections as there are streams at once, so that none waits for another.
const pools = { plain: new Pool(upstream, { connections: 64 }), streaming: new Pool(streaming, { connections: 4_096 }) }

createServer((request, response) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    const toStream = request.url?.startsWith("/stream") === true
    const abort = new AbortController()
    response.once("close", () => {
      if (!response.writableFinished) abort.abort()
    })
    pools[toStream ? "streaming" : "plain"]
      .request({
        path: "/v1/chat/completions",
        method: "POST",
        headers: { "content-type": "application/json", authorization: "Bearer bench" },
        body: Buffer.concat(chunks),
        ...(toStream ? { signal: abort.signal } : {})
      })
      .then(({ statusCode, headers, body }) => {
        response.writeHead(statusCode, { "content-type": String(headers["content-type"]) })
        body.on("error", () => response.destroy())
        body.pipe(response)
      })
      .catch(() => response.destroy())
  })
}).listen(Number(port), "127.0.0.1")
