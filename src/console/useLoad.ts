/**
 * Loads data and keeps the current data while reloading, so that the page does not jump. With
 * `everyMs` it reloads at intervals while the tab is visible. Outdated responses are dropped.
 */
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import { asFailure, type Failure } from "./client.ts"

export interface Loading<A> {
  readonly data: A | undefined
  readonly failure: Failure | undefined
  readonly isLoading: boolean
  readonly reload: () => void
}

interface LoadOptions {
  readonly everyMs?: number
  /** Keeps showing the old data until the new data arrives. */
  readonly isSteady?: boolean
}

/** `what` identifies the data. When it changes, the old data is dropped. */
export const useLoad = <A>(
  what: string,
  load: (signal: AbortSignal) => Promise<A>,
  { everyMs, isSteady = false }: LoadOptions = {}
): Loading<A> => {
  const [state, setState] = useState<{ what: string; data?: A; failure?: Failure; isLoading: boolean }>({
    what,
    isLoading: true
  })
  const [round, setRound] = useState(0)
  const latest = useRef(load)
  latest.current = load

  useEffect(() => {
    const controller = new AbortController()
    setState((before) =>
      before.what === what || isSteady ? { ...before, what, isLoading: true } : { what, isLoading: true }
    )
    latest.current(controller.signal).then(
      (data) => {
        if (!controller.signal.aborted) setState({ what, data, isLoading: false })
      },
      (thrown: unknown) => {
        if (controller.signal.aborted) return
        const failure = asFailure(thrown)
        // Keeps the data, together with the failure to renew it.
        setState((before) => ({ ...(before.what === what ? before : { what }), failure, isLoading: false }))
      }
    )
    return () => controller.abort()
  }, [what, round])

  const reload = useCallback(() => setRound((count) => count + 1), [])

  useEffect(() => {
    if (everyMs === undefined) return
    const timer = setInterval(() => {
      if (!document.hidden) reload()
    }, everyMs)
    const seen = () => {
      if (!document.hidden) reload()
    }
    document.addEventListener("visibilitychange", seen)
    return () => {
      clearInterval(timer)
      document.removeEventListener("visibilitychange", seen)
    }
  }, [everyMs, reload])

  return {
    data: state.what === what || isSteady ? state.data : undefined,
    failure: state.what === what ? state.failure : undefined,
    isLoading: state.isLoading,
    reload
  }
}
