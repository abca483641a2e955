/** The usage of one key or one user, on its page. */
import { type Source } from "../keys/source.ts"
import { Loaded } from "../parts/States.tsx"
import { loadUsageOf } from "../usage/usage.ts"
import { Report } from "../usage/Report.tsx"
import { useDays } from "../usage/UsagePage.tsx"
import { useLoad } from "../useLoad.ts"

export interface Whose {
  readonly key?: string
  readonly owner?: string
}

export const UsageOf = ({ of, source }: { readonly of: Whose; readonly source: Source }) => {
  const { bounds, picker } = useDays()
  const asked = { ...bounds, ...of }
  const usage = useLoad(`usage ${JSON.stringify(asked)}`, (signal) => loadUsageOf(source, asked, signal), {
    isSteady: true
  })
  return (
    <section>
      <h2>Usage</h2>
      {picker}
      <Loaded of={usage} what="Usage" rows={8}>
        {(data) => <Report of={data} empty="Nothing was called in this time." />}
      </Loaded>
    </section>
  )
}
