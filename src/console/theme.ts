/** The colour theme: light, dark or the system's. Stored in this browser. */
import { createStore } from "./store.ts"

export type Theme = "system" | "light" | "dark"

const NAME = "tollgate.theme"

const kept = (): Theme => {
  const value = localStorage.getItem(NAME)
  return value === "light" || value === "dark" ? value : "system"
}

export const theme = createStore<Theme>(kept())

/** A counter that changes with the colours, so that canvases are redrawn. */
export const palette = createStore(0)

const apply = (): void => {
  const chosen = theme.get()
  if (chosen === "system") delete document.documentElement.dataset["theme"]
  else document.documentElement.dataset["theme"] = chosen
  palette.set(palette.get() + 1)
}

export const choose = (chosen: Theme): void => {
  if (chosen === "system") localStorage.removeItem(NAME)
  else localStorage.setItem(NAME, chosen)
  theme.set(chosen)
}

theme.watch(apply)
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply)
apply()

/** A colour of the stylesheet in a form for canvases. */
export const colorOf = (name: string): string => {
  const probe = document.createElement("i")
  probe.style.color = `var(--${name})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
