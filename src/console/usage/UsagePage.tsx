/**
 * The usage page, for all keys or a user's own. Its days are those of UTC, and are in the address.
 */
import { type ComponentChildren } from "preact"
import { Choice, TextField } from "../parts/Field.tsx"
import { Page } from "../parts/Page.tsx"
import { Loaded } from "../parts/States.tsx"
import { useLoad } from "../useLoad.ts"
import { useQuery } from "../useQuery.ts"
import { Report } from "./Report.tsx"
import { type Usage, type UsageOf } from "./usage.ts"

const DAY = 86_400_000
const names = ["days", "from", "to"] as const

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
const isDay = (text: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(text)

/** The first day, and the day after the last. The last one that is picked is part of the span. */
export const useDays = () => {
  const [{ days, from, to }, set] = useQuery(names)
  const isFree = days === "free"
  const standard = days === "7" || days === "90" ? days : "30"
  const bounds: Pick<UsageOf, "from" | "to"> = isFree
    ? {
        from: isDay(from) ? from : undefined,
        to: isDay(to) ? dayOf(Date.parse(to) + DAY) : undefined
      }
    : { from: dayOf(Date.now() - (Number(standard) - 1) * DAY), to: undefined }
  const picker = (
    <div class="span">
      <Choice
        legend="Time"
        value={isFree ? "free" : standard}
        onValue={(picked) =>
          set(
            picked === "free"
              ? { days: "free", from: bounds.from ?? "", to: dayOf(Date.now()) }
              : { days: picked === "30" ? "" : picked, from: "", to: "" }
          )
        }
        options={[
          ["7", "7 days"],
          ["30", "30 days"],
          ["90", "90 days"],
          ["free", "From – to"]
        ]}
      />
      {isFree ? (
        <>
          <TextField label="From" type="date" value={from} onValue={(value) => set({ from: value }, "replace")} />
          <TextField label="To" type="date" value={to} onValue={(value) => set({ to: value }, "replace")} />
        </>
      ) : null}
    </div>
  )
  return { bounds, picker }
}

interface UsagePageProps {
  readonly lead: string
  readonly load: (of: UsageOf, signal: AbortSignal) => Promise<Usage>
  /** Shown if there was no usage. */
  readonly empty: ComponentChildren
  /** Shown first. */
  readonly children?: ComponentChildren
}

export const UsagePage = ({ children, empty, lead, load }: UsagePageProps) => {
  const { bounds, picker } = useDays()
  const usage = useLoad(`usage ${JSON.stringify(bounds)}`, (signal) => load(bounds, signal), {
    everyMs: 30_000,
    isSteady: true
  })
  return (
    <Page title="Usage" lead={lead}>
      {children}
      {picker}
      <Loaded of={usage} what="Usage" rows={14}>
        {(data) => <Report of={data} empty={empty} />}
      </Loaded>
    </Page>
  )
}
