/** `tollgate route`: whom a chat request would be sent to, in which order, and who is left out and why. Nobody is called. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { type RoutePreview } from "../api/Route.ts"
import { connect } from "./Connection.ts"
import { count, milliseconds, share, usd } from "./Figures.ts"
import { answer } from "./Output.ts"
import { withProgress } from "./Progress.ts"
import { payloadOf, question } from "./Question.ts"
import { table } from "./Table.ts"

const told = ({ candidates, error, excluded, likely_completion_tokens, prompt_tokens, sort }: RoutePreview): string =>
  [
    `By ${sort}, for ${count(prompt_tokens)} tokens of prompt and a likely ${count(likely_completion_tokens)} of answer:`,
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
      "nobody"
    ),
    ...excluded.map(({ model, reason, slug }) => `Left out: ${slug} (${model}), ${reason}`),
    ...(error === null ? [] : [`The request would be refused: ${error.message}`])
  ].join("\n")

export const route = Command.make(
  "route",
  question,
  Effect.fnUntraced(function* (asked) {
    const client = yield* connect("apiKey")
    const payload = yield* payloadOf(asked, client)
    const preview = yield* client.route.preview({ payload }).pipe(withProgress("asking for the route"))
    yield* answer(preview, told(preview))
  })
).pipe(Command.withDescription("Preview whom a chat request would be sent to, without a call"))
