import { assert, it } from "@effect/vitest"
import { HttpServerRequest } from "effect/http"
import { isOwnSite } from "../../../src/http/auth/OwnSite.ts"

const publicUrl = "https://gateway.example.com"
const request = (headers: Readonly<Record<string, string>>) =>
  HttpServerRequest.fromWeb(new Request("http://10.0.0.1:8787/auth/refresh", { method: "POST", headers }))

it("a browser's own pages, an address that was typed, and who is no browser", () => {
  for (const headers of [
    {},
    { "sec-fetch-site": "same-origin" },
    { "sec-fetch-site": "none" },
    { "sec-fetch-site": "same-origin", origin: publicUrl },
    { origin: publicUrl },
    // Reached by another name than the settings', such as the machine's own.
    { origin: "http://10.0.0.1:8787", host: "10.0.0.1:8787" }
  ]) {
    assert.isTrue(isOwnSite(request(headers), publicUrl), JSON.stringify(headers))
  }
})

it("nobody else's, neither a neighbour's under the same name", () => {
  for (const headers of [
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { "sec-fetch-site": "cross-site", origin: publicUrl },
    { "sec-fetch-site": "nonsense" },
    { origin: "https://evil.example" },
    { origin: "http://gateway.example.com" },
    { origin: "https://gateway.example.com.evil.example" },
    { origin: "https://gateway.example.com:8443" },
    { origin: "null" },
    { origin: "" }
  ]) {
    assert.isFalse(isOwnSite(request(headers), publicUrl), JSON.stringify(headers))
  }
})
