/**
 * The minimum that Node allows: node:http in front of an undici pool. It forwards requests and
 * returns replies, streams included, without keys, limits or parsing. Arguments: its port, the
 * upstream's origin, the origin for paths that begin with `/stream`.
 */
import { createServer } from "node:http"
import { Pool } from "undici"

const [port, upstream, streaming] = process.argv.slice(2)
if (upstream === undefined || streaming === undefined) throw new Error("arguments: port, upstream, streaming upstream")

// One connection per concurrent stream, so that none waits for another.
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
