/** Usage of all keys, by model, provider, user and key. */
import { Link } from "../router.tsx"
import { loadUsage } from "./usage.ts"
import { UsagePage } from "./UsagePage.tsx"

export const AllUsage = () => (
  <UsagePage
    lead="What everyone has used and what it cost. Days are those of UTC."
    load={(of, signal) => loadUsage(of, ["model", "provider", "owner", "key"], signal)}
    empty={
      <>
        Issue a key under <Link to="/keys">Keys</Link>, or try a model in the <Link to="/playground">playground</Link>.
      </>
    }
  />
)
