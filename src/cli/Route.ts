/**
 * `tollgate route`: the providers that a chat request would go to, in order, and the excluded ones
 * with the reason. No provider is called.
 */
import { Effect } from "effect"
import { Command } from "effect/cli"
import type { RoutePreview } from "../api/Route.ts"
import { connect } from "./Connection.ts"
import { count, milliseconds, share, usd } from "./Figures.ts"
import { answer } from "./Output.ts"
import { withProgress } from "./Progress.ts"
import { payloadOf, question, withSimilarModels } from "./Question.ts"
import { type Page, page, table } from "./Table.ts"

const rendered = ({ candidates, error, excluded, likely_completion_tokens, prompt_tokens, sort }: RoutePreview): Page =>
  page(
    `By ${sort}, for ${count(prompt_tokens)} prompt tokens and an estimated ${count(likely_completion_tokens)} completion tokens:`,
    table(
      ["", "PROVIDER", "MODEL", "EXPECTED", "SUCCESS", "LATENCY", "CIRCUIT"],
      candidates.map(({ circuit, expected_cost_usd, latency_ms, model, provider, success_rate }, index) => [
        String(index + 1),
        provider,
        model,
        usd(expected_cost_usd),
        share(success_rate),
        milliseconds(latency_ms?.p50 ?? null),
        circuit
      ]),
      "no provider"
    ),
    ...excluded.map(({ model, reason, slug }) => `Excluded: ${slug} (${model}), ${reason}`),
    ...(error === null ? [] : [`The request would fail: ${error.message}`])
  )

export const route = Command.make(
  "route",
  question,
  Effect.fnUntraced(function* (given) {
    const client = yield* connect("apiKey")
    const payload = yield* payloadOf(given, client)
    const preview = yield* client.route
      .preview({ payload })
      .pipe(Effect.catch(withSimilarModels(client, payload.model)), withProgress("reading the route"))
    yield* answer(preview, rendered(preview))
  })
).pipe(
  Command.withDescription("Preview the providers of a chat request, without calling one"),
  Command.withExamples([{ command: "tollgate route --model openai/gpt-6 --sort latency 'Hello'" }])
)
