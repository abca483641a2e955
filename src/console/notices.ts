/** Short notices, shown for some seconds and announced by screen readers. */
import { createStore } from "./store.ts"

export interface Notice {
  readonly id: number
  readonly text: string
}

export const notice = createStore<Notice | null>(null)

const SHOWN_MS = 6_000
let last = 0

export const notify = (text: string): void => {
  const id = ++last
  notice.set({ id, text })
  setTimeout(() => {
    if (notice.get()?.id === id) notice.set(null)
  }, SHOWN_MS)
}
