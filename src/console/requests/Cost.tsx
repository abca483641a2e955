/**
 * The calculation of a bill. Its figures are exact, so that they add up as they are shown: the
 * lines to the provider's price, and the attempts to the same.
 */
import { type GenerationRecord } from "../../api/Generations.ts"
import { usdExact, words } from "../format.ts"
import { Panel } from "../parts/Page.tsx"

interface CostProps {
  readonly of: GenerationRecord
}

export const Cost = ({ of }: CostProps) => {
  const { cost, reservation, service_tier } = of
  return (
    <Panel title="Cost" note={service_tier === null ? undefined : `${service_tier} tier`}>
      <dl class="pairs sums">
        {of.lines.length === 0 ? <Summary of={of} /> : <Lines of={of} />}
        <dt class="sum">Price</dt>
        <dd class="sum">{usdExact(cost.total_cost_usd)}</dd>
        <dt>Markup</dt>
        <dd>{usdExact(cost.markup_usd)}</dd>
        <dt class="sum">Billed</dt>
        <dd class="sum">{usdExact(cost.billed_usd)}</dd>
      </dl>
      <ByAttempt of={of} />
      <p class="quiet reserved">
        Reserved {usdExact(reservation.reserved_usd)}
        {reservation.extended_usd === 0 ? "" : `, extended by ${usdExact(reservation.extended_usd)}`}, settled with{" "}
        {usdExact(reservation.settled_usd)}.
      </p>
    </Panel>
  )
}

const Lines = ({ of: { lines } }: CostProps) => (
  <>
    {lines.flatMap(({ assumed, class: name, cost_usd, price, quantity }, index) => [
      <dt key={index}>
        {words(name)}, {quantity.toLocaleString("en")} at {usdExact(price)} per{" "}
        {calls.has(name) ? "thousand" : "million"}
        {assumed === undefined ? null : <span class="quiet"> no price set: the dearest</span>}
      </dt>,
      <dd key={`${index} cost`}>{usdExact(cost_usd)}</dd>
    ])}
  </>
)

const calls = new Set(["request", "web_search"])

/** An answer from the gateway's cache, an estimate, or a record of an earlier version. */
const Summary = ({ of: { cost, usage } }: CostProps) => (
  <>
    <dt>prompt, {usage.prompt_tokens.toLocaleString("en")}</dt>
    <dd>{usdExact(cost.prompt_cost_usd)}</dd>
    <dt>completion, {usage.completion_tokens.toLocaleString("en")}</dt>
    <dd>{usdExact(cost.completion_cost_usd)}</dd>
    {cost.fees_usd === undefined ? null : (
      <>
        <dt>fees</dt>
        <dd>{usdExact(cost.fees_usd)}</dd>
      </>
    )}
    <dt>saved by caches</dt>
    <dd>{cost.cache_discount_usd === 0 ? usdExact(0) : `−${usdExact(cost.cache_discount_usd)}`}</dd>
  </>
)

/** One line for each attempt that was charged, where several were. */
const ByAttempt = ({ of: { attempts, cost, usage_source } }: CostProps) => {
  if (usage_source === "estimated") {
    return <p class="quiet reserved">Estimated after a crash: what each attempt cost is unknown.</p>
  }
  const charged = attempts.flatMap((attempt, at) => (attempt.cost_usd > 0 ? [{ ...attempt, at: at + 1 }] : []))
  if (charged.length < 2) return null
  return (
    <>
      <h3 class="reserved">By attempt</h3>
      <dl class="pairs sums attempts">
        {charged.flatMap(({ at, completion_tokens, cost_usd, prompt_tokens, provider }) => [
          <dt key={at}>
            {at}. {provider}, {prompt_tokens} + {completion_tokens} tokens
          </dt>,
          <dd key={`${at} cost`}>{usdExact(cost_usd)}</dd>
        ])}
        <dt class="sum">Price</dt>
        <dd class="sum">{usdExact(cost.total_cost_usd)}</dd>
      </dl>
    </>
  )
}
