/** Light, dark, or as the system has it. The choice is kept in this browser; it is no secret. */
import { createStore } from "./store.ts"

export type Theme = "system" | "light" | "dark"

const NAME = "tollgate.theme"

const kept = (): Theme => {
  const value = localStorage.getItem(NAME)
  return value === "light" || value === "dark" ? value : "system"
}

export const theme = createStore<Theme>(kept())

/** Counts up whenever the colours change, whoever changed them; what is drawn is drawn anew. */
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

/** A colour of the stylesheet as a canvas takes it. */
export const colorOf = (name: string): string => {
  const probe = document.createElement("i")
  probe.style.color = `var(--${name})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
