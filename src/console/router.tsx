/**
 * Routing by real addresses below /console, so that pages can be bookmarked and the back button
 * works. An entry of the browser's history keeps how far its page was scrolled and what else a page
 * wants back (`keep`, `kept`); Back, Forward and Reload restore it.
 */
import { type ComponentChildren } from "preact"
import { createStore, useStore } from "./store.ts"

const BASE = "/console"

/** The path below /console: `/`, `/requests/gen_…`. An older name of a page still works. */
const here = (): string =>
  location.pathname
    .slice(BASE.length)
    .replace(/\/+$/, "")
    .replace(/^\/generations(?=\/|$)/, "/requests") || "/"

const path = createStore(here())
const search = createStore(location.search)

const moved = (): void => {
  path.set(here())
  search.set(location.search)
}

export const usePath = (): string => useStore(path)
export const useSearch = (): string => useStore(search)

const addressOf = (to: string): string => BASE + (to === "/" || to.startsWith("/?") ? to.slice(1) : to)

/** What the current entry of the history keeps under a name. */
export const kept = (name: string): unknown => (history.state as Readonly<Record<string, unknown>> | null)?.[name]

export const keep = (name: string, value: unknown): void =>
  history.replaceState({ ...(history.state as object | null), [name]: value }, "")

const RESTORED_WITHIN_MS = 10_000
/** The ways of a user to scroll. They end a restoration. */
const gestures = ["wheel", "touchstart", "pointerdown", "keydown"] as const

let giveUp: (() => void) | undefined

/** Scrolls to where the entry was left, as soon as its content is there. */
const restoreScroll = (): void => {
  giveUp?.()
  const wanted = Number(kept("scroll") ?? 0)
  if (wanted === 0) return scrollTo(0, 0)
  const observer = new ResizeObserver(() => {
    scrollTo(0, wanted)
    if (Math.abs(scrollY - wanted) < 2 && document.querySelector(".skeleton") === null) giveUp?.()
  })
  const timer = setTimeout(() => giveUp?.(), RESTORED_WITHIN_MS)
  giveUp = () => {
    giveUp = undefined
    observer.disconnect()
    clearTimeout(timer)
    for (const gesture of gestures) removeEventListener(gesture, stop)
  }
  const stop = giveUp
  for (const gesture of gestures) addEventListener(gesture, stop, { passive: true })
  observer.observe(document.body)
}

let scrolled: ReturnType<typeof setTimeout> | undefined
const keepScroll = (): void => {
  clearTimeout(scrolled)
  if (giveUp === undefined) keep("scroll", scrollY)
}

history.scrollRestoration = "manual"
restoreScroll()
addEventListener("scroll", () => {
  clearTimeout(scrolled)
  scrolled = setTimeout(keepScroll, 150)
})
addEventListener("popstate", () => {
  clearTimeout(scrolled)
  moved()
  restoreScroll()
})

/** Opens a page by its path below /console, with or without a query: `/requests?status=402`. */
export const go = (to: string): void => {
  keepScroll()
  giveUp?.()
  history.pushState(null, "", addressOf(to))
  moved()
  scrollTo(0, 0)
}

/** Replaces the current page by its full path, with or without a query. */
export const replacePage = (address: string): void => {
  if (!/^\/console(?:[/?]|$)/.test(address)) return
  history.replaceState(null, "", address)
  moved()
}

/** Changes the query of the current page. `how`: whether Back returns to the query before. */
export const setSearch = (query: URLSearchParams, how: "push" | "replace"): void => {
  const address = query.size === 0 ? location.pathname : `${location.pathname}?${query}`
  if (address === location.pathname + location.search) return
  keepScroll()
  giveUp?.()
  if (how === "push") history.pushState(null, "", address)
  else history.replaceState({ scroll: scrollY }, "", address)
  moved()
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
    href={addressOf(to)}
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
