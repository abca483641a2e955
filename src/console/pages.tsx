/** Every page with its place in the navigation, and who sees it. */
import { type ComponentChildren } from "preact"
import { Keys } from "./pages/Keys.tsx"
import { allKeys } from "./pages/keySource.ts"
import { Overview } from "./pages/Overview.tsx"
import { type IconName } from "./parts/Icon.tsx"
import { isOperator, type Session } from "./session.ts"

export interface PageEntry {
  /** Where it is; `/` begins everything. */
  readonly to: string
  readonly title: string
  readonly group: string
  readonly icon: IconName
  /** `rest`: what follows `to` in the address. */
  readonly show: (rest: string) => ComponentChildren
}

const operatorPages: ReadonlyArray<PageEntry> = [
  { to: "/", title: "Overview", group: "Watch", icon: "overview", show: () => <Overview /> },
  { to: "/keys", title: "Keys", group: "Manage", icon: "keys", show: () => <Keys source={allKeys} /> }
]

export const pagesFor = (current: Session): ReadonlyArray<PageEntry> => (isOperator(current) ? operatorPages : [])
