/** Which page is shown, out of the address: real paths below /console, so that a page can be bookmarked and the back button works. */
import { type ComponentChildren } from "preact"
import { createStore, useStore } from "./store.ts"

const BASE = "/console"

/** The path below /console: `/`, `/keys`, `/generations/gen_…`. */
const here = (): string => location.pathname.slice(BASE.length).replace(/\/+$/, "") || "/"

const path = createStore(here())
addEventListener("popstate", () => path.set(here()))

export const usePath = (): string => useStore(path)

export const go = (to: string): void => {
  history.pushState(null, "", to === "/" ? BASE : BASE + to)
  path.set(here())
  scrollTo(0, 0)
}

/** Goes to a page by its whole address, in place of the present one. */
export const goBackTo = (pathname: string): void => {
  if (pathname !== BASE && !pathname.startsWith(`${BASE}/`)) return
  history.replaceState(null, "", pathname)
  path.set(here())
}

interface LinkProps {
  readonly to: string
  readonly class?: string
  readonly current?: boolean
  readonly onGo?: () => void
  readonly children: ComponentChildren
}

export const Link = ({ children, class: className, current, onGo, to }: LinkProps) => (
  <a
    href={to === "/" ? BASE : BASE + to}
    class={className}
    aria-current={current === true ? "page" : undefined}
    onClick={(event) => {
      // A new tab is the browser's business.
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
      event.preventDefault()
      onGo?.()
      go(to)
    }}
  >
    {children}
  </a>
)
