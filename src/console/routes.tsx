/** All pages with their place in the navigation and their audience. */
import { type ComponentChildren } from "preact"
import { Audit } from "./audit/Audit.tsx"
import { Account } from "./signin/Account.tsx"
import { AllUsage } from "./usage/AllUsage.tsx"
import { KeyPage } from "./keys/KeyPage.tsx"
import { Keys } from "./keys/Keys.tsx"
import { ModelPage } from "./models/ModelPage.tsx"
import { Models } from "./models/Models.tsx"
import { Overview } from "./overview/Overview.tsx"
import { OwnUsage } from "./usage/OwnUsage.tsx"
import { LazyPage } from "./parts/LazyPage.tsx"
import { Privacy } from "./privacy/Privacy.tsx"
import { ProviderPage } from "./providers/ProviderPage.tsx"
import { Providers } from "./providers/Providers.tsx"
import { Request } from "./requests/Request.tsx"
import { Requests } from "./requests/Requests.tsx"
import { Settings } from "./settings/Settings.tsx"
import { everyone, own, type Source } from "./keys/source.ts"
import { UserPage } from "./users/UserPage.tsx"
import { Users } from "./users/Users.tsx"
import { Webhooks } from "./webhooks/Webhooks.tsx"
import { type IconName } from "./parts/Icon.tsx"
import { isOperator, type Session } from "./session.ts"

export interface PageEntry {
  /** Its path; `/` is a prefix of all. */
  readonly to: string
  readonly title: string
  readonly group: string
  readonly icon: IconName
  /** `rest`: the path after `to`. */
  readonly show: (rest: string) => ComponentChildren
}

/** Pages that operators have for all keys, and users for their own. */
const keysOf = (source: Source, group: string): PageEntry => ({
  to: "/keys",
  title: "Keys",
  group,
  icon: "keys",
  show: (id) => (id === "" ? <Keys source={source} /> : <KeyPage key={id} id={id} source={source} />)
})

const requestsOf = (source: Source, group: string): PageEntry => ({
  to: "/requests",
  title: "Requests",
  group,
  icon: "requests",
  show: (id) => (id === "" ? <Requests source={source} /> : <Request key={id} id={id} source={source} />)
})

const playground = (
  <LazyPage
    title="Playground"
    lead="Real calls, on the key's budget and limits."
    load={async () => (await import("./playground/Playground.tsx")).Playground}
  />
)

const modelsOf = (source: Source): PageEntry => ({
  to: "/models",
  title: "Models",
  group: "Try",
  icon: "models",
  show: (id) => (id === "" ? <Models source={source} /> : <ModelPage key={id} id={id} source={source} />)
})

const trying: ReadonlyArray<PageEntry> = [
  { to: "/playground", title: "Playground", group: "Try", icon: "playground", show: () => playground },
  { to: "/privacy", title: "Privacy", group: "Try", icon: "privacy", show: () => <Privacy /> }
]

const operatorPages: ReadonlyArray<PageEntry> = [
  { to: "/", title: "Overview", group: "Watch", icon: "overview", show: () => <Overview /> },
  { to: "/usage", title: "Usage", group: "Watch", icon: "usage", show: () => <AllUsage /> },
  requestsOf(everyone, "Watch"),
  { to: "/audit", title: "Audit", group: "Watch", icon: "audit", show: (part) => <Audit part={part} /> },
  keysOf(everyone, "Manage"),
  {
    to: "/users",
    title: "Users",
    group: "Manage",
    icon: "users",
    show: (id) => (id === "" ? <Users /> : <UserPage key={id} id={id} />)
  },
  {
    to: "/providers",
    title: "Providers",
    group: "Manage",
    icon: "providers",
    show: (slug) => (slug === "" ? <Providers /> : <ProviderPage key={slug} slug={slug} />)
  },
  { to: "/webhooks", title: "Webhooks", group: "Manage", icon: "webhooks", show: (part) => <Webhooks part={part} /> },
  { to: "/settings", title: "Settings", group: "Manage", icon: "settings", show: () => <Settings /> },
  modelsOf(everyone),
  ...trying
]

const account: PageEntry = {
  to: "/account",
  title: "Account",
  group: "You",
  icon: "account",
  show: () => <Account />
}

const userPages: ReadonlyArray<PageEntry> = [
  { to: "/", title: "Usage", group: "Yours", icon: "usage", show: () => <OwnUsage /> },
  keysOf(own, "Yours"),
  requestsOf(own, "Yours"),
  modelsOf(own),
  ...trying,
  account
]

export const pagesFor = (current: Session): ReadonlyArray<PageEntry> => {
  if (!isOperator(current)) return userPages
  return current.kind === "user" ? [...operatorPages, account] : operatorPages
}
