/** Every page with its place in the navigation, and who sees it. */
import { type ComponentChildren } from "preact"
import { Account } from "./pages/Account.tsx"
import { Generation } from "./pages/Generation.tsx"
import { Generations } from "./pages/Generations.tsx"
import { Keys } from "./pages/Keys.tsx"
import { allKeys } from "./pages/keySource.ts"
import { Overview } from "./pages/Overview.tsx"
import { Playground } from "./pages/Playground.tsx"
import { Privacy } from "./pages/Privacy.tsx"
import { Providers } from "./pages/Providers.tsx"
import { Settings } from "./pages/Settings.tsx"
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

const trying: ReadonlyArray<PageEntry> = [
  { to: "/playground", title: "Playground", group: "Try", icon: "playground", show: () => <Playground /> },
  { to: "/privacy", title: "Privacy", group: "Try", icon: "privacy", show: () => <Privacy /> }
]

const operatorPages: ReadonlyArray<PageEntry> = [
  { to: "/", title: "Overview", group: "Watch", icon: "overview", show: () => <Overview /> },
  {
    to: "/generations",
    title: "Generations",
    group: "Watch",
    icon: "generations",
    show: (id) => (id === "" ? <Generations /> : <Generation id={id} />)
  },
  { to: "/keys", title: "Keys", group: "Manage", icon: "keys", show: () => <Keys source={allKeys} /> },
  { to: "/providers", title: "Providers", group: "Manage", icon: "providers", show: () => <Providers /> },
  { to: "/settings", title: "Settings", group: "Manage", icon: "settings", show: () => <Settings /> },
  ...trying
]

const accountAt = (to: string): PageEntry => ({
  to,
  title: "Account",
  group: "You",
  icon: "account",
  show: () => <Account />
})

const userPages: ReadonlyArray<PageEntry> = [accountAt("/"), ...trying]

export const pagesFor = (current: Session): ReadonlyArray<PageEntry> => {
  if (!isOperator(current)) return userPages
  return current.kind === "user" ? [...operatorPages, accountAt("/account")] : operatorPages
}
