/** Formats numbers, money, times and names. Unknown values are a dash. */

export const NONE = "–"

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 })
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 })
const cents = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const fractions = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 4 })
const exact = new Intl.NumberFormat("en", { maximumFractionDigits: 9 })
const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 })

export const count = (value: number): string => (Math.abs(value) < 100_000 ? whole.format(value) : short.format(value))

/** Cents from one dollar on, more digits below: a single call costs millionths. */
export const usd = (value: number | null | undefined): string => {
  if (value === null || value === undefined) return NONE
  if (value === 0) return "$0"
  const size = Math.abs(value)
  return `$${(size >= 1 ? cents : size >= 0.01 ? fractions : digits).format(value)}`
}

/** All digits down to a billionth of a dollar, so that sums hold as they are shown. */
export const usdExact = (value: number): string => `$${exact.format(value)}`

export const ms = (value: number | null | undefined): string => {
  if (value === null || value === undefined) return NONE
  if (value < 10) return `${Number(value.toFixed(1))}\u00a0ms`
  if (value < 1_000) return `${Math.round(value)}\u00a0ms`
  return value < 60_000 ? `${(value / 1_000).toFixed(2)}\u00a0s` : `${(value / 60_000).toFixed(1)}\u00a0min`
}

export const percent = (share: number | null | undefined): string =>
  share === null || share === undefined
    ? NONE
    : `${share > 0 && share < 0.001 ? "<0.1" : Number((share * 100).toFixed(1))}\u00a0%`

const dateTime = new Intl.DateTimeFormat(undefined, {
  year: "numeric",
  month: "short",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23"
})
const seconds = new Intl.DateTimeFormat(undefined, {
  month: "short",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23"
})

export const moment = (iso: string | null | undefined): string =>
  iso === null || iso === undefined ? NONE : dateTime.format(new Date(iso))

export const momentSeconds = (iso: string): string => seconds.format(new Date(iso))

/** The zone in which moments are shown: `Europe/Berlin, UTC+1`. Named once a page. */
export const zone = (): string => {
  const parts = new Intl.DateTimeFormat("en", { timeZoneName: "shortOffset" }).formatToParts(new Date())
  const offset = parts.find(({ type }) => type === "timeZoneName")?.value.replace("GMT", "UTC") ?? "UTC"
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  return timeZone === "UTC" ? timeZone : `${timeZone}, ${offset}`
}

const steps: ReadonlyArray<readonly [string, number]> = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1]
]

/** A duration in its largest unit. */
export const duration = (totalSeconds: number): string => {
  const [unit, size] = steps.find(([, size]) => totalSeconds >= size) ?? ["s", 1]
  return `${Math.floor(totalSeconds / size)}\u00a0${unit}`
}

/** `4 min ago`, `in 3 h`. */
export const relative = (iso: string | null | undefined, nowMs = Date.now()): string => {
  if (iso === null || iso === undefined) return NONE
  const away = (Date.parse(iso) - nowMs) / 1_000
  if (Math.abs(away) < 5) return "now"
  return away > 0 ? `in ${duration(away)}` : `${duration(-away)} ago`
}

/** `provider_error` becomes `provider error`. */
export const words = (name: string): string => name.replaceAll("_", " ")
