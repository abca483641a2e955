/** `tollgate providers`: how each provider and its models do, now and in the last 24 hours. */
import { Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import type { ProviderDetails, ProviderRecord } from "../../api/Providers.ts"
import { nearest } from "../../domain/Nearest.ts"
import { connect } from "../Connection.ts"
import { CommandFailed, isTollgateError } from "../Failure.ts"
import { count, milliseconds, moment, share } from "../Figures.ts"
import { answer, oneLine } from "../Output.ts"
import { withProgress } from "../Progress.ts"
import { type Cell, type Page, page, table } from "../Table.ts"

const styles = { ok: "green", degraded: "yellow", down: "red" } as const
const circuits = { closed: "green", half_open: "yellow", open: "red" } as const

const causeOf = (why: ProviderRecord["why"]): string => {
  if (why === null) return "-"
  const status = why.status === null ? "" : ` (status ${why.status})`
  return oneLine(`${why.type}${status}${why.message === null ? "" : `: ${why.message}`}`)
}

const overview = (providers: ReadonlyArray<ProviderRecord>): Page =>
  table(
    ["PROVIDER", "STATUS", "SINCE (UTC)", "UPTIME 24 H", "CALLS", "FAILED", "OPENED", "MODELS", "WHY"],
    providers.map((provider): ReadonlyArray<Cell> => [
      provider.slug,
      { text: provider.status, style: styles[provider.status] },
      moment(provider.since),
      share(provider.uptime),
      count(provider.calls),
      count(provider.failed),
      count(provider.opened_24h),
      count(provider.models.length),
      causeOf(provider.why)
    ]),
    "There are no providers."
  )

const details = (provider: ProviderDetails): Page =>
  page(
    overview([provider]),
    "",
    table(
      ["MODEL", "CIRCUIT", "UPTIME 24 H", "CALLS", "FAILED", "P50", "P95", "FIRST TOKEN"],
      provider.models.map((model): ReadonlyArray<Cell> => [
        model.id,
        { text: model.state, style: circuits[model.state] },
        share(model.uptime),
        count(model.calls),
        count(model.failed),
        milliseconds(model.latency_ms?.p50 ?? null),
        milliseconds(model.latency_ms?.p95 ?? null),
        milliseconds(model.time_to_first_token_ms?.p50 ?? null)
      ]),
      "It has no models."
    ),
    "",
    table(
      ["OUTAGE FROM (UTC)", "TO", "MODEL", "OPENED", "WHY"],
      provider.outages.map((outage): ReadonlyArray<Cell> => [
        moment(outage.opened_at),
        outage.closed_at === null ? { text: "open", style: "red" } : moment(outage.closed_at),
        outage.model ?? "all",
        count(outage.openings),
        causeOf(outage.why)
      ]),
      "There was no outage in the last 30 days."
    )
  )

export const providers = Command.make(
  "providers",
  {
    slug: Argument.String("provider").pipe(
      Argument.withDescription("One provider, with its models and outages"),
      Argument.optional
    )
  },
  Effect.fnUntraced(function* ({ slug }) {
    const { adminProviders } = yield* connect("adminKey")
    if (Option.isNone(slug)) {
      const list = yield* adminProviders.list().pipe(withProgress("reading providers"))
      return yield* answer(list, overview(list.data))
    }
    const found = yield* adminProviders.get({ params: { slug: slug.value } }).pipe(
      Effect.catchIf(
        (error) => isTollgateError(error) && error.status === 404,
        () =>
          Effect.flatMap(adminProviders.list(), ({ data }) => {
            const slugs = data.map(({ slug }) => slug)
            const near = nearest(slug.value, slugs)
            return Effect.fail(
              new CommandFailed({
                code: "refused",
                message: `There is no provider "${slug.value}".`,
                remedy: near === null ? `There are: ${slugs.join(", ")}.` : `Did you mean "${near}"?`
              })
            )
          })
      ),
      withProgress("reading the provider")
    )
    yield* answer(found, details(found))
  })
).pipe(
  Command.withDescription("Show how providers do: circuits, uptime of 24 hours, causes, outages"),
  Command.withExamples([{ command: "tollgate providers" }, { command: "tollgate providers openai" }])
)
