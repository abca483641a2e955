/**
 * The providers page: health, circuits and data policies, and every model's price and speed at each
 * provider.
 */
import { useState } from "preact/hooks"
import { type Overview } from "../../api/Admin.ts"
import { type ModelEntry } from "../../api/Models.ts"
import { call } from "../client.ts"
import { count, ms, NONE, percent, relative, usd } from "../format.ts"
import { Badge } from "../parts/Badge.tsx"
import { TextField } from "../parts/Field.tsx"
import { Page, Panel } from "../parts/Page.tsx"
import { Empty, Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { useLoad } from "../useLoad.ts"

type Model = typeof ModelEntry.Type
type Offer = Model["providers"][number] & { readonly model: string }

/** Converts USD per token, as in the list, to USD per million tokens. */
const million = (price: string): string => usd(Number((Number(price) * 1e6).toPrecision(6)))

export const policyOf = ({ retains_prompts, retention_days, training, zdr }: Offer["data_policy"]): string =>
  zdr && !training && !retains_prompts
    ? "keeps nothing, trains on nothing"
    : [
        training ? "may train on prompts" : "does not train",
        retains_prompts
          ? retention_days === null
            ? "retains prompts"
            : `retains prompts ${retention_days} days`
          : "does not retain"
      ].join(", ")

export const Providers = () => {
  const [filter, setFilter] = useState("")
  const models = useLoad(
    "models",
    (signal) => call<{ readonly data: ReadonlyArray<Model> }>("/v1/admin/models", { signal }),
    { everyMs: 10_000 }
  )
  const overview = useLoad("overview", (signal) => call<Overview>("/v1/admin/overview", { signal }), { everyMs: 5_000 })
  return (
    <Page title="Providers" lead="Figures are of this process's last calls.">
      <Loaded of={models} what="The list of all models" rows={12}>
        {({ data }) => {
          const offers = data.flatMap((model) => model.providers.map((offer): Offer => ({ ...offer, model: model.id })))
          const text = filter.trim().toLowerCase()
          const rows = offers.filter(({ model, slug }) => `${model} ${slug}`.toLowerCase().includes(text))
          return (
            <div class="stack">
              <ProviderTable states={overview.data?.providers ?? []} offers={offers} />
              <div class="filters alone">
                <TextField
                  label="Find a model or provider"
                  value={filter}
                  onValue={setFilter}
                  placeholder="gpt, claude, alpha"
                />
              </div>
              <Panel
                title={`${count(rows.length)} offers of ${count(data.length)} models`}
                note="USD a million tokens"
                class="flush"
              >
                {rows.length === 0 ? <Empty title="No offer matches" /> : <OfferTable rows={rows.slice(0, 200)} />}
                {rows.length > 200 ? <p class="more quiet">The first 200; filter to see others.</p> : null}
              </Panel>
            </div>
          )
        }}
      </Loaded>
    </Page>
  )
}

interface ProviderTableProps {
  readonly states: Overview["providers"]
  readonly offers: ReadonlyArray<Offer>
}

const ProviderTable = ({ offers, states }: ProviderTableProps) => {
  const bySlug = Map.groupBy(offers, ({ slug }) => slug)
  return (
    <Panel title="Providers" class="flush">
      <Table
        caption="Providers"
        rows={[...bySlug]}
        keyOf={([slug]) => slug}
        columns={[
          {
            head: "Provider",
            cell: ([slug, of]) => (
              <span class="two-lines">
                <b>{of[0]?.name}</b>
                <code>{slug}</code>
              </span>
            )
          },
          {
            head: "Circuit",
            cell: ([slug]) => {
              const state = states.find((one) => one.slug === slug)
              return state === undefined ? (
                NONE
              ) : (
                <>
                  <Badge text={state.state} />{" "}
                  {state.open_until === null ? null : <span class="quiet">retried {relative(state.open_until)}</span>}
                </>
              )
            }
          },
          {
            head: "Answered",
            numeric: true,
            cell: ([slug]) => percent(states.find((one) => one.slug === slug)?.success_rate)
          },
          {
            head: "First token, p50",
            numeric: true,
            cell: ([slug]) => ms(states.find((one) => one.slug === slug)?.ttft_p50_ms)
          },
          { head: "Models", numeric: true, cell: ([, of]) => count(of.length) },
          { head: "With prompts it", cell: ([, of]) => (of[0] === undefined ? NONE : policyOf(of[0].data_policy)) },
          {
            head: "Tags",
            cell: ([, of]) => (
              <span class="badges">
                {of[0]?.tags.map((tag) => (
                  <Badge key={tag} text={tag} tone="good" />
                ))}
              </span>
            )
          }
        ]}
      />
    </Panel>
  )
}

const OfferTable = ({ rows }: { readonly rows: ReadonlyArray<Offer> }) => (
  <Table
    caption="Models"
    rows={rows}
    keyOf={({ model, slug }) => `${model} ${slug}`}
    columns={[
      { head: "Model", cell: ({ model }) => model },
      { head: "Provider", cell: ({ slug }) => slug },
      { head: "State", cell: ({ status }) => <Badge text={status} /> },
      {
        head: "Prompt",
        numeric: true,
        cell: ({ pricing: { input_cache_read, prompt } }) =>
          input_cache_read === undefined ? (
            million(prompt)
          ) : (
            <span class="two-lines">
              <span>{million(prompt)}</span>
              <span>{million(input_cache_read)} cached</span>
            </span>
          )
      },
      { head: "Completion", numeric: true, cell: ({ pricing }) => million(pricing.completion) },
      {
        head: "Context",
        numeric: true,
        cell: ({ context_length }) => (context_length === null ? NONE : count(context_length))
      },
      { head: "Answered", numeric: true, cell: ({ uptime }) => percent(uptime) },
      {
        head: "p50, p99",
        numeric: true,
        cell: ({ latency_ms }) => (latency_ms === null ? NONE : `${ms(latency_ms.p50)}, ${ms(latency_ms.p99)}`)
      },
      {
        head: "Tokens/s",
        numeric: true,
        cell: ({ throughput_tps }) => (throughput_tps === null ? NONE : count(Math.round(throughput_tps)))
      }
    ]}
  />
)
