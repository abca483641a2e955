/** One model: every price, and each provider with its data policy, state and speed. */
import { count, ms, NONE } from "../format.ts"
import { type Source } from "../keys/source.ts"
import { Badge } from "../parts/Badge.tsx"
import { Page, Panel } from "../parts/Page.tsx"
import { Empty, Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { uptimeWords } from "../providers/UptimeStrip.tsx"
import { Link } from "../router.tsx"
import { withQuery } from "../client.ts"
import { tryPath } from "./Models.tsx"
import { type Offer, policyOf } from "./policy.ts"
import { perMillion } from "./prices.ts"
import { isChat, type Model, useModels } from "./useModels.ts"

interface ModelPageProps {
  readonly id: string
  readonly source: Source
}

export const ModelPage = ({ id, source }: ModelPageProps) => {
  const models = useModels(source)
  const model = models.data?.find((one) => one.id === id)
  return (
    <Page
      title={id}
      tab={`${id}, model`}
      lead={<Link to="/models">All models</Link>}
      actions={
        model === undefined ? undefined : (
          <>
            <Link to={withQuery("/requests", { model: model.alias_of?.[0] ?? id })} class="button">
              Its requests
            </Link>
            {isChat(model) ? (
              <Link to={tryPath(model)} class="button primary">
                Try it
              </Link>
            ) : null}
          </>
        )
      }
    >
      <Loaded of={models} what="The catalogue of models" rows={12}>
        {() =>
          model === undefined ? (
            <Empty title="No such model">
              <Link to="/models">See all models</Link>
            </Empty>
          ) : (
            <div class="stack">
              <About of={model} />
              <Panel title="Providers" note="USD a million tokens" class="flush">
                <Providers of={model} source={source} />
              </Panel>
            </div>
          )
        }
      </Loaded>
    </Page>
  )
}

const About = ({ of: model }: { readonly of: Model }) => (
  <Panel title="About">
    <dl class="pairs">
      {model.alias_of === undefined ? null : (
        <>
          <dt>Alias of</dt>
          <dd>{model.alias_of.join(", ")}</dd>
        </>
      )}
      <dt>Context</dt>
      <dd>{model.context_length === null ? NONE : `${count(model.context_length)} tokens`}</dd>
      <dt>Longest completion</dt>
      <dd>
        {model.top_provider.max_completion_tokens === null
          ? NONE
          : `${count(model.top_provider.max_completion_tokens)} tokens`}
      </dd>
      <dt>In and out</dt>
      <dd>{model.architecture.modality.replace("->", " to ")}</dd>
      <dt>Parameters</dt>
      <dd>{model.supported_parameters.join(", ")}</dd>
    </dl>
  </Panel>
)

/** The prices of one offer beside prompt and completion, such as those of cached prompts. */
const otherPrices = ({ pricing }: Offer): ReadonlyArray<string> => [
  ...(pricing.input_cache_read === undefined ? [] : [`${perMillion(pricing.input_cache_read)} cached`]),
  ...(pricing.input_cache_write === undefined ? [] : [`${perMillion(pricing.input_cache_write)} written to the cache`]),
  ...(pricing.tiers ?? []).map(
    (tier) =>
      `${perMillion(tier.prompt)} and ${perMillion(tier.completion)} above ${count(tier.above_prompt_tokens)} tokens`
  )
]

const Providers = ({ of, source }: { readonly of: Model; readonly source: Source }) => (
  <Table
    caption="Providers"
    rows={of.providers}
    keyOf={({ slug }) => slug}
    columns={[
      {
        head: "Provider",
        cell: ({ name, slug }) => (
          <span class="lines">
            {source.isOwn ? <span>{name}</span> : <Link to={`/providers/${slug}`}>{name}</Link>}
            {name === slug ? null : <code>{slug}</code>}
          </span>
        )
      },
      { head: "State", cell: ({ status }) => <Badge text={status} /> },
      {
        head: "Prompt",
        numeric: true,
        cell: (offer) => (
          <span class="lines">
            <span>{perMillion(offer.pricing.prompt)}</span>
            {otherPrices(offer).map((price) => (
              <span key={price}>{price}</span>
            ))}
          </span>
        )
      },
      { head: "Completion", numeric: true, cell: ({ pricing }) => perMillion(pricing.completion) },
      {
        head: "Context",
        numeric: true,
        cell: ({ context_length }) => (context_length === null ? NONE : count(context_length))
      },
      { head: "Answered lately", numeric: true, cell: ({ uptime }) => uptimeWords(uptime) },
      {
        head: "p50, p99",
        numeric: true,
        cell: ({ latency_ms }) => (latency_ms === null ? NONE : `${ms(latency_ms.p50)}, ${ms(latency_ms.p99)}`)
      },
      {
        head: "Tokens/s",
        numeric: true,
        cell: ({ throughput_tps }) => (throughput_tps === null ? NONE : count(Math.round(throughput_tps)))
      },
      { head: "Data policy", cell: ({ data_policy }) => policyOf(data_policy) }
    ]}
  />
)
