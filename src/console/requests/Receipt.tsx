/**
 * The receipt of a generation: how it ended and why, its attempts on one time axis, the calculation
 * of the cost, the request as the gateway understood it, and the excluded providers.
 */
import { type GenerationRecord } from "../../api/Generations.ts"
import { type ComponentChildren } from "preact"
import { count, ms, usd, words } from "../format.ts"
import { Badge } from "../parts/Badge.tsx"
import { Copy } from "../parts/Copy.tsx"
import { Facts } from "../parts/Facts.tsx"
import { Panel } from "../parts/Page.tsx"
import { Cost } from "./Cost.tsx"
import { End } from "./End.tsx"
import { remedyOf } from "./remedies.ts"
import { type Attempt } from "./timeline.ts"
import { Timeline } from "./Timeline.tsx"

interface ReceiptProps {
  readonly of: GenerationRecord
  /** Key and user, with links where the reader may follow them. */
  readonly people?: ReadonlyArray<readonly [name: string, value: ComponentChildren]>
}

export const Receipt = ({ of, people = [] }: ReceiptProps) => (
  <div class="stack">
    <Facts
      facts={[
        ["Status", <Status of={of} />, <End of={of} />],
        [of.error_type === null ? "Answered by" : "Last tried", of.provider, of.model],
        [
          "Billed",
          usd(of.cost.billed_usd),
          of.cost.markup_usd === 0 ? "no markup" : `${usd(of.cost.markup_usd)} of it markup`
        ],
        [
          "Time",
          ms(of.latency_ms),
          of.time_to_first_token_ms === null ? undefined : `first token after ${ms(of.time_to_first_token_ms)}`
        ],
        [
          "Tokens",
          `${count(of.usage.prompt_tokens)} + ${count(of.usage.completion_tokens)}`,
          `prompt + completion, ${sources[of.usage_source]}`
        ]
      ]}
    />
    <Why of={of} />
    <Timeline of={of} />
    <div class="columns">
      <Cost of={of} />
      <div class="stack">
        <About of={of} people={people} />
        <LeftOut of={of} />
      </div>
    </div>
  </div>
)

const sources = {
  provider: "as the provider counted",
  counted: "counted by the gateway",
  estimated: "estimated after a crash",
  cache: "replayed from the cache"
} as const

const Status = ({ of: { cancelled, error_type, status } }: { readonly of: GenerationRecord }) => (
  <Badge
    text={status === null ? "unknown" : String(status)}
    tone={error_type !== null ? "bad" : cancelled ? "warn" : "good"}
  />
)

/** The cause of a failure in the last words that a provider said about it, and what to do. */
const Why = ({ of }: { readonly of: GenerationRecord }) => {
  if (of.error_type === null) return null
  const attempts: ReadonlyArray<Attempt> = of.attempts
  const failed = attempts.findLast(({ status }) => status !== "skipped")
  const said = attempts.findLast(({ message }) => typeof message === "string")
  return (
    <Panel title="Why it failed">
      <p>
        {words(of.error_type)}
        {said !== undefined
          ? `: ${said.provider} said “${said.message}”`
          : typeof failed?.error_type === "string"
            ? `: ${failed.provider}, ${words(failed.error_type)}`
            : ""}
      </p>
      <p class="quiet">{remedyOf(of.error_type)}</p>
    </Panel>
  )
}

const stickiness = {
  hit: "stayed with the provider key that has its prompt in cache",
  moved: "moved away from the provider key that had its prompt in cache",
  new: "no earlier answer is known"
} as const

/** `email 2, phone 1`. */
const listed = (members: Readonly<Record<string, unknown>>): string =>
  Object.entries(members)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(", ")

const About = ({ of, people = [] }: ReceiptProps) => {
  const cached = of.usage.prompt_tokens_details.cached_tokens
  const facts: ReadonlyArray<readonly [name: string, value: ComponentChildren]> = [
    ...(of.request_id === null
      ? []
      : [
          [
            "Request id",
            <>
              <code>{of.request_id}</code> <Copy text={of.request_id} label="Copy the request id" />
            </>
          ] as const
        ]),
    ...people,
    ...(of.endpoint === null ? [] : [["Endpoint", <code>{of.endpoint}</code>] as const]),
    ...(of.requested_model === undefined ? [] : [["Asked for", of.requested_model] as const]),
    ["Sent", of.streamed ? "as a stream" : "in one piece"],
    ["Gateway's cache", of.cache_hit ? "answered from it: no provider was called" : "not used"],
    ...(cached === 0 ? [] : [["Provider's cache", `${count(cached)} of the prompt's tokens`] as const]),
    ...(of.sticky === undefined ? [] : [["Conversation", stickiness[of.sticky]] as const]),
    ["Masked", listed(of.masked) || "nothing"],
    ["Dropped", of.dropped.join(", ") || "nothing"]
  ]
  const parameters = Object.entries(of.parameters)
  return (
    <Panel title="Request">
      <dl class="pairs">
        {facts.flatMap(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name}=`}>{value}</dd>])}
      </dl>
      {parameters.length === 0 ? null : (
        <>
          <h3 class="reserved">Parameters</h3>
          <dl class="pairs">
            {parameters.flatMap(([name, value]) => [
              <dt key={name}>
                <code>{name}</code>
              </dt>,
              <dd key={`${name}=`}>{String(value)}</dd>
            ])}
          </dl>
        </>
      )}
    </Panel>
  )
}

const LeftOut = ({ of: { excluded } }: { readonly of: GenerationRecord }) => (
  <Panel title="Left out">
    {excluded.length === 0 ? (
      <p class="quiet">No provider of the model was left out.</p>
    ) : (
      <dl class="pairs">
        {excluded.flatMap(({ model, reason, slug }) => [
          <dt key={`${slug} ${model}`}>{slug}</dt>,
          <dd key={`${slug} ${model} why`}>
            {words(reason)} <span class="quiet">{model}</span>
          </dd>
        ])}
      </dl>
    )}
  </Panel>
)
