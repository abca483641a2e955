/** The headers of responses, for the OpenAPI document. */
const header = (description: string, schema: object = { type: "string" }) => ({ description, schema })

const always = { "x-request-id": header("The id of the request, for the log and for questions.") }

const limits = Object.fromEntries(
  ["requests", "tokens"].flatMap((what) => [
    [`x-ratelimit-limit-${what}`, header(`The limit of ${what} a minute.`, { type: "integer" })],
    [`x-ratelimit-remaining-${what}`, header(`How many ${what} are left.`, { type: "integer" })],
    [`x-ratelimit-reset-${what}`, header(`How long until the limit of ${what} is whole again, such as \`1m30s\`.`)]
  ])
)

const metered = {
  ...limits,
  "x-generation-id": header("The id of the generation, where there is one."),
  "x-tollgate-provider": header("The slug of the provider that answered."),
  "idempotent-replayed": header("`true`: the reply of an earlier request with the same `Idempotency-Key`.")
}

const completed = {
  "x-tollgate-cache": header("`hit`, `miss`, or `bypass` where the prompt cache was not used."),
  "x-tollgate-dropped": header("The members of the request that the provider did not get.")
}

/** Operations whose requests are metered, and those that are completions. */
const completions = /^(?:chat\.complete|messages\.create|responses\.create)$/
const calls = /^(?:embeddings\.embed|messages\.countTokens|route\.preview|privacy\.preview)$/

/** The headers of an operation's response with this status. */
export const responseHeaders = (operationId: string, status: string): Readonly<Record<string, object>> => ({
  ...always,
  ...(completions.test(operationId) ? { ...metered, ...completed } : calls.test(operationId) ? metered : {}),
  ...(status === "302" ? { location: header("Where the browser goes.") } : {}),
  ...(status === "401" ? { "www-authenticate": header("`Bearer`.") } : {}),
  ...(status === "429" || status === "503"
    ? { "retry-after": header("Seconds to wait, where they are known.", { type: "integer" }) }
    : {}),
  ...(status === "402" || status === "429" || status === "502"
    ? { "x-should-retry": header("`false` where a retry cannot help.") }
    : {})
})
