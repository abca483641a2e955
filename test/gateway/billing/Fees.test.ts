/** Options that cost more than tokens: a key with a budget cannot use them, other keys can. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { nanoFromUsd } from "../../../src/domain/Money.ts"
import { saying } from "../scripts.ts"
import { gatewayOn, ran } from "../streams.ts"

const tool = (type?: string) => ({ ...(type === undefined ? {} : { type }), function: { name: "f" } })

const asked = (request: object, monthlyBudgetNano: number | null = nanoFromUsd(1)) =>
  Effect.scoped(ran({ key: { monthlyBudgetNano }, request: { ...request, stream: false } }))

it.effect.each<readonly [string, object]>([
  ["service_tier", { service_tier: "priority" }],
  ["best_of", { best_of: 5 }],
  ["web_search_options", { web_search_options: {} }],
  ["plugins", { plugins: [{ id: "web" }] }],
  ["tools[1].type", { tools: [tool("function"), { type: "web_search" }] }]
])(
  "%s",
  Effect.fnUntraced(function* ([param, request]) {
    const { heard, layer } = gatewayOn({ alpha: { reply: saying("Hello") } })
    const error = yield* Effect.flip(asked(request)).pipe(Effect.provide(layer))
    assert.deepInclude(error.reason, { _tag: "InvalidRequest", param, code: "unsupported_parameter" })
    assert.isEmpty(heard.calls)
    yield* asked(request, null).pipe(Effect.provide(layer))
    assert.deepStrictEqual(heard.calls, ["alpha"])
  })
)

it.effect("options at the listed price are allowed", () => {
  const { heard, layer } = gatewayOn({ alpha: { reply: saying("Hello") } })
  return Effect.gen(function* () {
    for (const service_tier of ["auto", "default", "flex"]) yield* asked({ service_tier })
    yield* asked({ best_of: 2, n: 2, plugins: [], web_search_options: null, tools: [tool("function"), tool()] })
    assert.lengthOf(heard.calls, 4)
  }).pipe(Effect.provide(layer))
})
