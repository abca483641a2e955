/**
 * One gateway for a file of tests: `fast` and `down` offer `acme/small`, and `down`, which refuses
 * connections, is cheaper and tried first.
 */
import { Context, Effect, Layer } from "effect"
import { type Gateway, startGateway } from "../support/Gateway.ts"
import { type Around, line } from "./line.ts"

const offer = (upstream: string, prompt: number) => ({
  id: "acme/small",
  upstream,
  context_length: 8_000,
  pricing: { prompt, completion: 2 * prompt }
})

const providers = [
  { slug: "fast", dialect: "mock", models: [offer("echo", 1), { ...offer("lorem", 1), id: "acme/lorem" }] },
  {
    slug: "down",
    dialect: "openai",
    base_url: "http://127.0.0.1:9/v1",
    api_key: "sk-of-the-provider-that-is-down",
    models: [offer("small", 0.1)]
  }
]

const webhooks = [{ url: "http://127.0.0.1:9/hook", secret: "secret-of-the-webhook-that-is-down" }]

export class CliGateway extends Context.Service<CliGateway, { readonly gateway: Gateway; readonly key: string }>()(
  "tollgate/test/CliGateway"
) {
  static readonly layer = Layer.effect(
    CliGateway,
    Effect.gen(function* () {
      const gateway = yield* startGateway({ config: { providers, webhooks } })
      const { key } = yield* gateway.issueKey({ name: "walker", tier: "enterprise" })
      return { gateway, key }
    })
  )
}

/** A line with the gateway's address and both keys. */
export const spoken = (args: ReadonlyArray<string>, around?: Around) =>
  Effect.flatMap(CliGateway, ({ gateway, key }) =>
    line([...args, "--url", gateway.url, "--key", key, "--admin-key", gateway.adminKey], around)
  )
