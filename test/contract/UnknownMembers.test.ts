/**
 * A member that an endpoint of the gateway does not know, in the body or in the query string, is
 * refused by every operation of the document. Only requests for models, probes and what other
 * servers send pass it.
 */
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { readFileSync } from "node:fs"
import { noSignIn } from "../../src/settings/sections/SignIn.ts"
import { TestApp } from "../support/TestApp.ts"
import { ask, helloReply } from "./wire.ts"

interface Operation {
  readonly operationId: string
  readonly parameters: ReadonlyArray<{ readonly name: string; readonly in: string }>
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example: object }>> }
  readonly security?: ReadonlyArray<object>
}

const document = JSON.parse(readFileSync(new URL("../../openapi.json", import.meta.url), "utf8")) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, ...operation }))
)

/** Model clients, monitors, sign-in pages and identity providers send members of their own here. */
const open = [
  /^(?:chat|embeddings|health|messages|metrics|models|responses|storedResponses)\./,
  /^auth\.(?:callback|keySet)$/,
  /^(?:route\.preview|signInMethods\.read)$/
]
const isOpen = ({ operationId }: Operation) => open.some((one) => one.test(operationId))

const google = { clientId: "tests", clientSecret: Redacted.make("a-secret"), issuer: "https://id.example.com" }
const app = TestApp.layer({
  providers: [{ slug: "alpha", models: { "test/small": { reply: helloReply } } }],
  settings: { auth: { ...noSignIn, oauth: { google } } }
})

const misspelt = "zzz_unknown"

it.effect("every operation names the unknown member of a body or a query", () =>
  Effect.gen(function* () {
    const { adminKey, issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    const json = (path: string, body?: unknown) =>
      Effect.map(send(path, body === undefined ? {} : { body }), ({ text }) => JSON.parse(text))
    const { challenge_id } = yield* json("/auth/register/email/start", { email: "anna@example.com" })
    const { code } = (yield* json("/auth/dev/mailbox")).data[0]
    const { access_token } = yield* json("/auth/register/email/verify", { challenge_id, code })

    const headersOf = ({ security = [] }: Operation): Readonly<Record<string, string>> => {
      const schemes = security.flatMap((one) => Object.keys(one))
      if (schemes.includes("adminKey")) return { "x-admin-key": adminKey }
      if (schemes.includes("session")) return { authorization: `Bearer ${access_token}` }
      return schemes.includes("bearer") ? { authorization: `Bearer ${secret}` } : {}
    }
    const faults: Array<string> = []
    for (const operation of operations) {
      const { method, operationId, path, requestBody } = operation
      const address = path
        .replace("{channel}", "email")
        .replace("{provider}", "google")
        .replaceAll(/\{(\w+)\}/g, "small")
      const body = requestBody?.content["application/json"]?.example
      const sent = { method, headers: headersOf(operation), ...(body === undefined ? {} : { body }) }
      const asked = yield* send(`${address}?${misspelt}=1`, sent)
      const isNamed = (text: string, where: string) =>
        text.includes('"extra_forbidden"') && text.includes(`["${where}","${misspelt}"]`)
      if ((asked.status === 422 && isNamed(asked.text, "query")) === isOpen(operation))
        faults.push(`${operationId}, query: ${asked.status} ${asked.text.slice(0, 200)}`)
      if (body === undefined) continue
      const told = yield* send(address, { ...sent, body: { ...body, [misspelt]: 1 } })
      if ((told.status === 422 && isNamed(told.text, "body")) === isOpen(operation))
        faults.push(`${operationId}, body: ${told.status} ${told.text.slice(0, 200)}`)
    }
    assert.deepStrictEqual(faults, [])
  }).pipe(Effect.provide(app))
)

it.effect("the gateway's own members of a request for a model are checked too", () =>
  Effect.gen(function* () {
    const { issueKey, send } = yield* TestApp
    const { secret } = yield* issueKey()
    for (const [provider, place, meant] of [
      [{ data_colection: "deny" }, ["body", "provider", "data_colection"], "data_collection"],
      [{ max_price: { completions: 0 } }, ["body", "provider", "max_price", "completions"], "completion"]
    ] as const) {
      for (const path of ["/v1/chat/completions", "/v1/route/preview"]) {
        const { status, text } = yield* send(path, { key: secret, body: ask("Hi", { provider }) })
        assert.strictEqual(status, 422, `${path} ${text}`)
        const [fault] = JSON.parse(text).detail
        assert.deepStrictEqual(fault.loc, place)
        assert.include(fault.msg, `did you mean '${meant}'?`)
      }
    }
  }).pipe(Effect.provide(app))
)
