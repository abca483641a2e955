/** Formats numbers for people. Money is exact to the nano-USD. */

const money = new Intl.NumberFormat("en-US", {
  style: "currency",
  currency: "USD",
  minimumFractionDigits: 2,
  maximumFractionDigits: 9
})
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 })

/** `$0.0000039` */
export const usd = (amount: number): string => money.format(amount)

/** `128,000`; `-` for null. */
export const count = (amount: number | null): string => (amount === null ? "-" : whole.format(amount))

/** `99 %`, for a fraction. */
export const share = (fraction: number | null): string =>
  fraction === null ? "-" : `${Math.round(fraction * 1000) / 10} %`

/** `12 ms` */
export const milliseconds = (amount: number | null): string => (amount === null ? "-" : `${count(amount)} ms`)

/** `2026-11-21 18:40` in UTC, for ISO 8601. */
export const moment = (iso: string | null): string => (iso === null ? "-" : iso.slice(0, 16).replace("T", " "))
