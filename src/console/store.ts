/**
 * A value that components share: read with `useStore`, written with `set`. Readers render again
 * when it changes.
 */
import { useEffect, useState } from "preact/hooks"

export interface Store<A> {
  readonly get: () => A
  readonly set: (value: A) => void
  readonly watch: (listener: () => void) => () => void
}

export const createStore = <A>(initial: A): Store<A> => {
  let value = initial
  const listeners = new Set<() => void>()
  return {
    get: () => value,
    set: (next) => {
      if (Object.is(next, value)) return
      value = next
      for (const listener of listeners) listener()
    },
    watch: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    }
  }
}

export const useStore = <A>(store: Store<A>): A => {
  const [value, setValue] = useState<A>(store.get)
  useEffect(() => {
    const changed = () => setValue(store.get)
    changed()
    return store.watch(changed)
  }, [store])
  return value
}
