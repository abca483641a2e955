/**
 * Routing by real paths below /console, so that pages can be bookmarked and the back button works.
 */
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

/** Replaces the current page by its full path. */
export const replacePage = (pathname: string): void => {
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
      // Leaves new tabs to the browser.
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
      event.preventDefault()
      onGo?.()
      go(to)
    }}
  >
    {children}
  </a>
)
