/**
 * A collector that accepts everything, and answers a GET with the number of bytes received.
 * Argument: its port.
 */
import { createServer } from "node:http"

let bytes = 0

createServer((request, response) => {
  if (request.method === "GET") return void response.end(String(bytes))
  request.on("data", (chunk: Buffer) => (bytes += chunk.length))
  request.on("end", () => response.end())
}).listen(Number(process.argv[2]), "127.0.0.1")
