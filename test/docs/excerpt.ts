/**
 * Whether a document's output is an excerpt of the real one. Members may be left out, those that
 * are there must agree: money, tokens and words exactly; ids, moments and measured times in their
 * type.
 */

const volatile = /^(?:[a-z]+_[0-9a-f]{32}$|tg-|\d{4}-\d{2}-\d{2}T)/
const measured =
  /^(?:created|latency_ms|started_ms|ended_ms|wait_ms|time_to_first_token_ms|uptime_s|p50|p99|retry_after|throughput_tps)$/

/** Where and how `shown` differs from `real`; empty when it is an excerpt. */
export const differences = (shown: unknown, real: unknown, at = "$"): ReadonlyArray<string> => {
  if (Array.isArray(shown)) {
    if (!Array.isArray(real) || real.length !== shown.length) return [`${at}: ${JSON.stringify(real)}`]
    return shown.flatMap((item, index) => differences(item, real[index], `${at}[${index}]`))
  }
  if (typeof shown === "object" && shown !== null) {
    if (typeof real !== "object" || real === null) return [`${at}: ${JSON.stringify(real)}`]
    const members = real as Readonly<Record<string, unknown>>
    return Object.entries(shown).flatMap(([name, value]) => differences(value, members[name], `${at}.${name}`))
  }
  const name = at.slice(at.lastIndexOf(".") + 1)
  const loose =
    typeof shown === typeof real &&
    (typeof shown === "string" ? volatile.test(shown) && volatile.test(String(real)) : measured.test(name))
  return loose || shown === real ? [] : [`${at}: shown ${JSON.stringify(shown)}, really ${JSON.stringify(real)}`]
}

/** The same for Server-Sent Events, event by event. */
export const eventDifferences = (shown: string, real: string): ReadonlyArray<string> => {
  const [shownEvents, realEvents] = [eventsOf(shown), eventsOf(real)]
  return differences(shownEvents, realEvents)
}

const eventsOf = (text: string): ReadonlyArray<unknown> =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => (line.startsWith("data: {") ? (JSON.parse(line.slice("data: ".length)) as unknown) : line))
