/** The attempts of a receipt, drawn on one time axis and told in words. */
import { count, ms, usdExact, words } from "../format.ts"
import { Badge } from "../parts/Badge.tsx"
import { Panel } from "../parts/Page.tsx"
import { type Attempt, type Drawn, timelineOf } from "./timeline.ts"

interface TimelineProps {
  readonly of: Parameters<typeof timelineOf>[0] & { readonly cache_hit: boolean }
}

export const Timeline = ({ of }: TimelineProps) => {
  const { rows, wholeMs } = timelineOf(of)
  if (rows.length === 0) {
    return (
      <Panel title="Attempts">
        <p class="quiet">{of.cache_hit ? "None: the answer came from the cache." : "None: no provider was called."}</p>
      </Panel>
    )
  }
  const has = (kind: string) => rows.some(({ parts }) => parts.some((part) => part.kind === kind))
  return (
    <Panel title="Attempts" note={`${ms(of.latency_ms)} in all`}>
      <ul class="legend" aria-hidden="true">
        <Key kind="calling" words={of.streamed ? "until the first token" : "until the answer"} />
        {has("streaming") ? <Key kind="streaming" words="stream" /> : null}
        {has("waited") ? <Key kind="waited" words="wait before a retry" /> : null}
      </ul>
      <ol class="timeline">
        {rows.map((row, index) => (
          <Row key={index} of={row} wholeMs={wholeMs} />
        ))}
      </ol>
    </Panel>
  )
}

const Key = ({ kind, words }: { readonly kind: string; readonly words: string }) => (
  <li>
    <i class={`swatch time-${kind}`} /> {words}
  </li>
)

interface RowProps {
  readonly of: Drawn
  readonly wholeMs: number
}

const Row = ({ of, wholeMs }: RowProps) => {
  const { attempt } = of
  const { completion_tokens, cost_usd, error_type, http_status, key, message, model, prompt_tokens, provider, status } =
    attempt
  return (
    <li>
      <span class="two-lines">
        <b>{provider}</b>
        <span>
          {model}
          {key === undefined ? "" : `, key ${key}`}
        </span>
      </span>
      <Bar of={of} wholeMs={wholeMs} />
      <span class="badges">
        <Badge text={status} />
        {error_type === null ? null : <span class="quiet">{words(error_type)}</span>}
        {http_status === null ? null : <span class="quiet">HTTP {http_status}</span>}
      </span>
      <span class="two-lines num">
        <span>{status === "skipped" ? "not called" : ms(durationOf(attempt))}</span>
        <span>
          {cost_usd > 0
            ? `${count(prompt_tokens)} + ${count(completion_tokens)} tokens, ${usdExact(cost_usd)}`
            : "free"}
        </span>
      </span>
      <Times of={of} />
      {message === null || message === undefined ? null : (
        <blockquote>
          {provider} said: “{message}”
        </blockquote>
      )}
    </li>
  )
}

const durationOf = ({ ended_ms, latency_ms, started_ms }: Attempt): number =>
  started_ms === null || ended_ms === null ? latency_ms : ended_ms - started_ms

/** What the bar shows, in words. */
const Times = ({ of: { attempt, firstTokenMs, parts } }: { readonly of: Drawn }) => {
  const { started_ms, status, wait_ms } = attempt
  if (status === "skipped") return <span class="times">its circuit was open</span>
  if (started_ms === null) return <span class="times">recorded by an earlier version, which kept no times</span>
  const streaming = parts.find(({ kind }) => kind === "streaming")
  return (
    <span class="times">
      {[
        wait_ms > 0 ? `waited ${ms(wait_ms)}` : "",
        `began at ${ms(started_ms)}`,
        firstTokenMs === null ? "" : `first token at ${ms(firstTokenMs)}`,
        streaming === undefined ? "" : `streamed for ${ms(streaming.toMs - streaming.fromMs)}`
      ]
        .filter((part) => part !== "")
        .join(", ")}
    </span>
  )
}

const Bar = ({ of: { attempt, firstTokenMs, parts }, wholeMs }: RowProps) => {
  const x = (time: number) => (time / wholeMs) * 1_000
  return (
    <svg class="bar" viewBox="0 0 1000 16" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      <rect class="track" y="6" width="1000" height="4" />
      {parts.map(({ fromMs, kind, toMs }) => (
        <rect
          key={kind}
          class={`${attempt.status} time-${kind}`}
          x={Math.min(996, x(fromMs))}
          y={kind === "waited" ? 5 : 3}
          width={Math.max(4, x(toMs - fromMs))}
          height={kind === "waited" ? 6 : 10}
        />
      ))}
      {firstTokenMs === null ? null : <rect class="first" x={Math.min(996, x(firstTokenMs))} width="4" height="16" />}
    </svg>
  )
}
