/** The last 24 hours of a provider: a bar for each hour, and the same in words beside it. */
import { type ProviderRecord } from "../../api/Providers.ts"
import { count, NONE, percent } from "../format.ts"

type Hour = ProviderRecord["hours"][number]

const toneOf = ({ uptime }: Hour): string =>
  uptime === null ? "calm" : uptime >= 0.99 ? "good" : uptime >= 0.9 ? "warn" : "bad"

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })

const hourWords = (hour: Hour): string => {
  const at = clock.format(new Date(hour.start))
  return hour.uptime === null
    ? `${at} no calls`
    : `${at} ${percent(hour.uptime)} of ${count(hour.calls)} calls answered`
}

/** A share that is not whole is never shown as 100 %. */
export const uptimeWords = (uptime: number | null): string =>
  uptime === null ? NONE : uptime < 1 && uptime > 0.999 ? ">99.9\u00a0%" : percent(uptime)

export const UptimeStrip = ({ of }: { readonly of: Pick<ProviderRecord, "hours" | "uptime" | "calls" | "failed"> }) => {
  const bad = of.hours.filter(({ failed }) => failed > 0)
  const troubles = bad.length === 0 ? "" : ` Failures in the hours from ${bad.map(hourWords).join("; ")}.`
  const sum =
    of.uptime === null
      ? "never called"
      : `${uptimeWords(of.uptime)} of ${count(of.calls)} ${of.calls === 1 ? "call" : "calls"}`
  return (
    <span class="uptime">
      <span class="strip" role="img" aria-label={`The last 24 hours: ${sum}.${troubles}`}>
        {of.hours.map((hour) => (
          <i key={hour.start} class={toneOf(hour)} title={hourWords(hour)} />
        ))}
      </span>
      <span>{sum}</span>
    </span>
  )
}
