/**
 * The catalogue of models: prices, context, what goes in and out, data policies and providers.
 * Cheapest first. The filters are in the address.
 */
import { withQuery } from "../client.ts"
import { count, ms, NONE } from "../format.ts"
import { type Source } from "../keys/source.ts"
import { Badge } from "../parts/Badge.tsx"
import { SelectField } from "../parts/Field.tsx"
import { Page, Panel } from "../parts/Page.tsx"
import { SearchField } from "../parts/SearchField.tsx"
import { Empty, Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { Link } from "../router.tsx"
import { sortRows, useSorting } from "../sorting.ts"
import { useQuery } from "../useQuery.ts"
import { perMillion, perMillionUsd } from "./prices.ts"
import { isChat, latencyOf, type Model, useModels } from "./useModels.ts"

const names = ["q", "provider", "policy", "kind"] as const
type Query = Readonly<Record<(typeof names)[number], string>>

const policies = [
  ["", "any"],
  ["no-training", "does not train on prompts"],
  ["zdr", "keeps nothing"]
] as const
const kinds = [
  ["", "any"],
  ["chat", "chat"],
  ["embeddings", "embeddings"]
] as const

const matches =
  ({ kind, policy, provider, q }: Query) =>
  (model: Model): boolean =>
    `${model.id} ${model.name} ${model.alias_of?.join(" ") ?? ""}`.toLowerCase().includes(q.toLowerCase()) &&
    (kind === "" || (kind === "chat") === isChat(model)) &&
    model.providers.some(
      ({ slug, tags }) => (provider === "" || slug === provider) && (policy === "" || tags.includes(policy))
    )

export const tryPath = ({ id }: Model): string => withQuery("/playground", { model: id })

export const Models = ({ source }: { readonly source: Source }) => {
  const [query, set] = useQuery(names)
  const sorting = useSorting(["model", "prompt", "completion", "context", "latency"], "prompt")
  const models = useModels(source)
  return (
    <Page
      title="Models"
      lead="Prices are in USD a million tokens, those of the cheapest provider. Latency is the median of recent calls."
    >
      <SearchField
        label="Search"
        value={query.q}
        onValue={(q) => set({ q }, "replace")}
        placeholder="Part of a model's name"
      />
      <Loaded of={models} what="The catalogue of models" rows={12}>
        {(all) => {
          const slugs = [...new Set(all.flatMap(({ providers }) => providers.map(({ slug }) => slug)))].sort()
          const rows = sortRows(all.filter(matches(query)), sorting.value, {
            model: ({ id }) => id,
            prompt: ({ pricing }) => perMillionUsd(pricing.prompt),
            completion: ({ pricing }) => perMillionUsd(pricing.completion),
            context: ({ context_length }) => context_length,
            latency: latencyOf
          })
          return (
            <div class="stack">
              <div class="filters">
                <SelectField
                  label="Provider"
                  value={query.provider}
                  onValue={(provider) => set({ provider })}
                  options={[["", "any"], ...slugs]}
                />
                <SelectField
                  label="Data policy"
                  value={query.policy}
                  onValue={(policy) => set({ policy })}
                  options={policies}
                />
                <SelectField label="For" value={query.kind} onValue={(kind) => set({ kind })} options={kinds} />
              </div>
              <Panel title={`${count(rows.length)} of ${count(all.length)} models`} class="flush">
                {rows.length === 0 ? (
                  <Empty
                    title="No model matches"
                    action={
                      <button
                        type="button"
                        class="button"
                        onClick={() => set({ q: "", provider: "", policy: "", kind: "" })}
                      >
                        Clear all filters
                      </button>
                    }
                  />
                ) : (
                  <Table
                    caption="Models"
                    rows={rows}
                    keyOf={({ id }) => id}
                    sorting={sorting}
                    isClickable
                    columns={[
                      {
                        head: "Model",
                        sort: "model",
                        cell: ({ alias_of, id }) => (
                          <span class="lines">
                            <Link to={`/models/${id}`}>{id}</Link>
                            {alias_of === undefined ? null : <span>alias of {alias_of.join(", ")}</span>}
                          </span>
                        )
                      },
                      {
                        head: "Prompt",
                        sort: "prompt",
                        numeric: true,
                        cell: ({ pricing }) => perMillion(pricing.prompt)
                      },
                      {
                        head: "Completion",
                        sort: "completion",
                        numeric: true,
                        cell: ({ pricing }) => perMillion(pricing.completion)
                      },
                      {
                        head: "Context",
                        sort: "-context",
                        numeric: true,
                        cell: ({ context_length }) => (context_length === null ? NONE : count(context_length))
                      },
                      { head: "Latency", sort: "latency", numeric: true, cell: (model) => ms(latencyOf(model)) },
                      { head: "In and out", cell: ({ architecture }) => architecture.modality.replace("->", " to ") },
                      {
                        head: "Data policy",
                        cell: ({ providers }) => (
                          <span class="badges">
                            {[...new Set(providers.flatMap(({ tags }) => tags))].map((tag) => (
                              <Badge key={tag} text={tag} tone="good" />
                            ))}
                          </span>
                        )
                      },
                      { head: "Providers", cell: ({ providers }) => providers.map(({ slug }) => slug).join(", ") },
                      {
                        head: "Playground",
                        cell: (model) =>
                          isChat(model) ? (
                            <Link to={tryPath(model)}>
                              Try it<span class="unseen">: {model.id}</span>
                            </Link>
                          ) : (
                            NONE
                          )
                      }
                    ]}
                  />
                )}
              </Panel>
            </div>
          )
        }}
      </Loaded>
    </Page>
  )
}
