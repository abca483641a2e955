/**
 * A span of time as filter: a quick one that ends now, or free moments. The address has `span`
 * (`hour`, `day`, `week`) or `from` and `to` in UTC, so that it means the same in another zone.
 */
import { zone } from "../format.ts"
import { type SetQuery } from "../useQuery.ts"
import { Choice, TextField } from "./Field.tsx"

export type SpanName = "span" | "from" | "to"
export const spanNames = ["span", "from", "to"] as const satisfies ReadonlyArray<SpanName>

type SpanQuery = Readonly<Record<SpanName, string>>

const HOUR = 3_600_000
const lengths: Readonly<Record<string, number>> = { hour: HOUR, day: 24 * HOUR, week: 7 * 24 * HOUR }

/** The moments of a span, for the API. Texts that are no moments are ignored. */
export const boundsOf = ({ from, span, to }: SpanQuery): { readonly from?: string; readonly to?: string } => {
  const length = lengths[span]
  if (length !== undefined) return { from: new Date(Date.now() - length).toISOString() }
  return {
    ...(Number.isNaN(Date.parse(from)) ? {} : { from: new Date(from).toISOString() }),
    ...(Number.isNaN(Date.parse(to)) ? {} : { to: new Date(to).toISOString() })
  }
}

/** A moment as the field shows it, in local time. */
const local = (iso: string): string => {
  const at = new Date(iso)
  return Number.isNaN(at.getTime())
    ? ""
    : new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

const utc = (local: string): string => (local === "" ? "" : new Date(local).toISOString().replace(":00.000Z", ":00Z"))

interface SpanProps {
  readonly query: SpanQuery
  readonly set: SetQuery<SpanName>
}

export const SpanFields = ({ query, set }: SpanProps) => {
  const { from, span, to } = query
  const isFree = span === "free" || from !== "" || to !== ""
  const pick = (picked: string) => set({ span: picked, ...(picked === "free" ? {} : { from: "", to: "" }) })
  return (
    <div class="span">
      <Choice
        legend="Time"
        value={isFree ? "free" : span}
        onValue={pick}
        options={[
          ["", "All"],
          ["hour", "Last hour"],
          ["day", "24 hours"],
          ["week", "7 days"],
          ["free", "From – to"]
        ]}
      />
      {isFree ? (
        <>
          <TextField
            label="From"
            type="datetime-local"
            value={local(from)}
            onValue={(value) => set({ span: "free", from: utc(value) }, "replace")}
          />
          <TextField
            label="To"
            type="datetime-local"
            value={local(to)}
            onValue={(value) => set({ span: "free", to: utc(value) }, "replace")}
          />
        </>
      ) : null}
      <p class="hint">Local time, {zone()}</p>
    </div>
  )
}
