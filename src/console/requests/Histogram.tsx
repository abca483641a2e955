/** The requests of the last hour by minute, or of the last day by hour, by how they ended. */
import { useMemo } from "preact/hooks"
import { type Timeseries } from "../../api/Series.ts"
import { call, withQuery } from "../client.ts"
import { count } from "../format.ts"
import { Chart } from "../parts/Chart.tsx"
import { useLoad } from "../useLoad.ts"

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((all, one) => all + one, 0)

export const Histogram = ({ range }: { readonly range: "hour" | "day" }) => {
  const { data: series } = useLoad(`histogram ${range}`, (signal) =>
    call<Timeseries>(withQuery("/v1/admin/timeseries", { range }), { signal })
  )
  const drawn = useMemo(() => {
    const buckets = series?.data ?? []
    const failed = buckets.map(({ errors }) => sum(errors))
    return {
      times: buckets.map(({ start }) => Date.parse(start) / 1_000),
      lines: [
        {
          label: "not failed",
          color: "c1",
          values: buckets.map(({ requests }, at) => requests - (failed[at] ?? 0))
        },
        { label: "failed", color: "c3", values: failed },
        { label: "refused", color: "c2", values: buckets.map(({ refusals }) => sum(refusals)) }
      ]
    }
  }, [series])
  if (series === undefined) return null
  return (
    <div class="histogram">
      <Chart title={`Requests per ${range === "hour" ? "minute" : "hour"}`} {...drawn} format={count} kind="bars" />
    </div>
  )
}
