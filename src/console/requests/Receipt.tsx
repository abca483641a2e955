/**
 * The receipt of a generation: attempts on one time axis with their costs, the calculation of the
 * cost, the reservation, and the excluded providers.
 */
import { type GenerationRecord } from "../../api/Generations.ts"
import { count, ms, usd, words } from "../format.ts"
import { Badge } from "../parts/Badge.tsx"
import { Facts } from "../parts/Facts.tsx"
import { Panel } from "../parts/Page.tsx"
import { End } from "./End.tsx"

type Attempt = GenerationRecord["attempts"][number]

export const Receipt = ({ of }: { readonly of: GenerationRecord }) => (
  <div class="stack">
    <Facts
      facts={[
        [of.error_type === null ? "Answered by" : "Last tried", of.provider, of.model],
        ["End", <End of={of} />, of.streamed ? "streamed" : "in one piece"],
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
    <Timeline of={of} />
    <div class="columns">
      <Cost of={of} />
      <LeftOut of={of} />
    </div>
  </div>
)

const sources = {
  provider: "as the provider counted",
  counted: "counted by the gateway",
  estimated: "estimated after a crash",
  cache: "replayed from the cache"
} as const

/**
 * Costs of the attempts: the charge of a lost attempt, and for the one that answered the rest of
 * the total.
 */
const costsOf = ({ attempts, cost }: GenerationRecord): ReadonlyArray<number | null> => {
  const lost = attempts.reduce((sum, { charged }) => sum + (charged?.total_cost_usd ?? 0), 0)
  const answered = attempts.findLastIndex(
    ({ charged, status }) => charged === undefined && status !== "skipped" && status !== "error"
  )
  return attempts.map(({ charged }, index) =>
    charged !== undefined ? charged.total_cost_usd : index === answered ? Math.max(0, cost.total_cost_usd - lost) : null
  )
}

const Timeline = ({ of }: { readonly of: GenerationRecord }) => {
  const { attempts } = of
  if (attempts.length === 0) {
    return (
      <Panel title="Attempts">
        <p class="quiet">{of.cache_hit ? "None: the answer came from the cache." : "None: no provider was called."}</p>
      </Panel>
    )
  }
  const whole = Math.max(
    1,
    of.latency_ms,
    attempts.reduce((sum, { latency_ms }) => sum + latency_ms, 0)
  )
  const costs = costsOf(of)
  let at = 0
  const rows = attempts.map((attempt, index) => {
    const isLast = index === attempts.length - 1
    // A stream's attempt ends at its first token.
    const firstToken = isLast ? of.time_to_first_token_ms : null
    const start = firstToken === null ? at : Math.max(at, firstToken - attempt.latency_ms)
    at = start + attempt.latency_ms
    return { attempt, start, firstToken, cost: costs[index] ?? null }
  })
  return (
    <Panel title="Attempts" note={`one after the other, ${ms(whole)} in all`}>
      <ol class="timeline">
        {rows.map(({ attempt, cost, firstToken, start }, index) => (
          <li key={index}>
            <span class="two-lines">
              <b>{attempt.provider}</b>
              <span>{attempt.model}</span>
            </span>
            <Bar attempt={attempt} start={start} whole={whole} firstToken={firstToken} />
            <span class="badges">
              <Badge text={attempt.status} />
              {attempt.error_type === null ? null : <span class="quiet">{words(attempt.error_type)}</span>}
              {attempt.http_status === null ? null : <span class="quiet">HTTP {attempt.http_status}</span>}
            </span>
            <span class="num">
              {ms(attempt.latency_ms)}
              <span class="quiet"> {cost === null ? "free" : usd(cost)}</span>
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  )
}

interface BarProps {
  readonly attempt: Attempt
  readonly start: number
  readonly whole: number
  readonly firstToken: number | null
}

const Bar = ({ attempt, firstToken, start, whole }: BarProps) => {
  const x = (time: number) => (time / whole) * 1_000
  return (
    <svg class="bar" viewBox="0 0 1000 16" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      <rect class="track" y="6" width="1000" height="4" />
      <rect class={attempt.status} x={x(start)} y="3" width={Math.max(4, x(attempt.latency_ms))} height="10" />
      {firstToken === null ? null : (
        <rect
          class={`${attempt.status} coming`}
          x={x(start + attempt.latency_ms)}
          y="3"
          width={Math.max(0, 1_000 - x(start + attempt.latency_ms))}
          height="10"
        />
      )}
      {firstToken === null ? null : (
        <rect class="first" x={Math.min(996, x(Math.max(start, firstToken)))} width="4" height="16" />
      )}
    </svg>
  )
}

const Cost = ({ of }: { readonly of: GenerationRecord }) => (
  <Panel title="Cost" note={of.service_tier === null ? undefined : `${of.service_tier} tier`}>
    <dl class="pairs sums">
      {of.lines.length === 0 ? <Summary of={of} /> : <Lines of={of} />}
      <dt>Markup</dt>
      <dd>{usd(of.cost.markup_usd)}</dd>
      <dt class="sum">Billed</dt>
      <dd class="sum">{usd(of.cost.billed_usd)}</dd>
    </dl>
    <p class="quiet reserved">
      Reserved {usd(of.reservation.reserved_usd)}
      {of.reservation.extended_usd === 0 ? "" : `, extended by ${usd(of.reservation.extended_usd)}`}, settled with{" "}
      {usd(of.reservation.settled_usd)}.
    </p>
  </Panel>
)

const Lines = ({ of: { lines } }: { readonly of: GenerationRecord }) => (
  <>
    {lines.flatMap(({ assumed, class: name, cost_usd, price, quantity }, index) => [
      <dt key={index}>
        {words(name)}, {count(quantity)} at {usd(price)} a {calls.has(name) ? "thousand" : "million"}
        {assumed === undefined ? null : <span class="quiet"> no price set: the dearest</span>}
      </dt>,
      <dd key={`${index} cost`}>{usd(cost_usd)}</dd>
    ])}
  </>
)

const calls = new Set(["request", "web_search"])

/** An answer from the gateway's cache, or a record without lines. */
const Summary = ({ of: { cost, price, usage } }: { readonly of: GenerationRecord }) => (
  <>
    <dt>
      Prompt, {count(usage.prompt_tokens)} at {usd(price.prompt)} a million
    </dt>
    <dd>{usd(cost.prompt_cost_usd)}</dd>
    <dt>
      Completion, {count(usage.completion_tokens)} at {usd(price.completion)} a million
    </dt>
    <dd>{usd(cost.completion_cost_usd)}</dd>
    <dt>Saved by caches</dt>
    <dd>{cost.cache_discount_usd === 0 ? usd(0) : `−${usd(cost.cache_discount_usd)}`}</dd>
  </>
)

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
