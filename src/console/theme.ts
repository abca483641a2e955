/** Light, dark, or as the system has it. The choice is kept in this browser; it is no secret. */
import { createStore } from "./store.ts"

export type Theme = "system" | "light" | "dark"

const NAME = "tollgate.theme"

const kept = (): Theme => {
  const value = localStorage.getItem(NAME)
  return value === "light" || value === "dark" ? value : "system"
}

export const theme = createStore<Theme>(kept())

const apply = (): void => {
  const chosen = theme.get()
  if (chosen === "system") delete document.documentElement.dataset["theme"]
  else document.documentElement.dataset["theme"] = chosen
}

export const choose = (chosen: Theme): void => {
  if (chosen === "system") localStorage.removeItem(NAME)
  else localStorage.setItem(NAME, chosen)
  theme.set(chosen)
}

theme.watch(apply)
apply()
