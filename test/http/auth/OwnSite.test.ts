import { assert, it } from "@effect/vitest"
import { HttpServerRequest } from "effect/http"
import { isOwnSite } from "../../../src/http/auth/OwnSite.ts"

const publicUrl = "https://gateway.example.com"
const request = (headers: Readonly<Record<string, string>>) =>
  HttpServerRequest.fromWeb(new Request("http://10.0.0.1:8787/auth/refresh", { method: "POST", headers }))

it("accepts the gateway's own pages, typed addresses and clients that are not browsers", () => {
  for (const headers of [
    {},
    { "sec-fetch-site": "same-origin" },
    { "sec-fetch-site": "none" },
    { "sec-fetch-site": "same-origin", origin: publicUrl },
    { origin: publicUrl },
    // Reached under another name than that of the settings, such as the machine's.
    { origin: "http://10.0.0.1:8787", host: "10.0.0.1:8787" }
  ]) {
    assert.isTrue(isOwnSite(request(headers), publicUrl), JSON.stringify(headers))
  }
})

it("rejects other sites, including another port of the same host", () => {
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
