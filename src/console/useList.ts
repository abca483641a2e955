/**
 * A list that the API gives page by page: the first page, further ones on request, and Live, which
 * puts new rows on top. The history's entry keeps the number of rows, so that Back finds as many.
 */
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import { asFailure, type Failure } from "./client.ts"
import { keep, kept } from "./router.tsx"

export interface ListPage<Row> {
  readonly data: ReadonlyArray<Row>
  readonly next_cursor: string | null
  /** The number of rows on all pages, if the API counts them. */
  readonly total?: number
}

export interface PageAsked {
  readonly limit: number
  readonly cursor: string | undefined
}

export interface List<Row> {
  /** Undefined before the first page. Those of the filter before, until the new ones arrive. */
  readonly rows: ReadonlyArray<Row> | undefined
  readonly total: number | undefined
  readonly failure: Failure | undefined
  readonly hasMore: boolean
  readonly isLoading: boolean
  readonly more: () => void
  readonly refresh: () => void
}

interface ListOptions<Row> {
  /** Identifies the list with its filters. When it changes, the list is loaded anew. */
  readonly what: string
  /** At most 100 rows a page. */
  readonly load: (asked: PageAsked, signal: AbortSignal) => Promise<ListPage<Row>>
  readonly keyOf: (row: Row) => string
  /** For lists with the newest rows first. */
  readonly isLive?: boolean
}

const PAGE = 50
const MOST_OF_PAGE = 100
/** Rows that Back restores, and rows that Live keeps. */
const MOST_ROWS = 1_000
const LIVE_MS = 3_000

interface State<Row> {
  /** The list that the page is of. */
  readonly what: string
  readonly page: ListPage<Row> | undefined
  readonly failure: Failure | undefined
  readonly isLoading: boolean
}

/** The new page on top. After a gap, or above too many rows, it stands alone. */
const onTop = <Row>(fresh: ListPage<Row>, old: ListPage<Row>, keyOf: (row: Row) => string): ListPage<Row> => {
  const known = new Set(fresh.data.map(keyOf))
  const below = old.data.filter((row) => !known.has(keyOf(row)))
  const hasGap = fresh.next_cursor !== null && below.length === old.data.length
  if (below.length === 0 || hasGap || below.length + fresh.data.length > MOST_ROWS) return fresh
  return { ...fresh, data: [...fresh.data, ...below], next_cursor: old.next_cursor }
}

/** The first pages of a list, until there are as many rows as wanted. */
const loadFirst = async <Row>(
  wanted: number,
  load: (asked: PageAsked) => Promise<ListPage<Row>>
): Promise<ListPage<Row>> => {
  let page = await load({ limit: Math.min(MOST_OF_PAGE, wanted), cursor: undefined })
  while (page.next_cursor !== null && page.data.length < wanted) {
    const limit = Math.min(MOST_OF_PAGE, wanted - page.data.length)
    const next = await load({ limit, cursor: page.next_cursor })
    page = { ...next, data: [...page.data, ...next.data] }
  }
  return page
}

export const useList = <Row>({ isLive = false, keyOf, load, what }: ListOptions<Row>): List<Row> => {
  const [state, setState] = useState<State<Row>>({ what, page: undefined, failure: undefined, isLoading: true })
  const [round, setRound] = useState(0)
  const { failure, page } = state
  const isLoading = state.isLoading || state.what !== what
  const latest = useRef({ load, keyOf, page })
  latest.current = { load, keyOf, page }
  const current = useRef(new AbortController())

  /** Answers that arrive after the filter has changed are dropped. */
  const fetchRows = (work: (signal: AbortSignal) => Promise<(old: State<Row>) => ListPage<Row>>): void => {
    const { signal } = current.current
    work(signal).then(
      (next) => {
        if (!signal.aborted) {
          setState((old) => ({ what, page: next(old), failure: undefined, isLoading: false }))
        }
      },
      (thrown: unknown) => {
        if (signal.aborted) return
        setState((old) => ({
          what,
          page: old.what === what ? old.page : undefined,
          failure: asFailure(thrown),
          isLoading: false
        }))
      }
    )
  }

  useEffect(() => {
    current.current = new AbortController()
    setState((old) => ({ ...old, isLoading: true }))
    const wanted = Math.min(MOST_ROWS, Math.max(PAGE, Number(kept(`rows ${what}`) ?? 0)))
    fetchRows(async (signal) => {
      const first = await loadFirst(wanted, (asked) => latest.current.load(asked, signal))
      return () => first
    })
    return () => current.current.abort()
  }, [what, round])

  useEffect(() => {
    if (page !== undefined && state.what === what) keep(`rows ${what}`, page.data.length)
  }, [page])

  useEffect(() => {
    if (!isLive) return
    const timer = setInterval(() => {
      if (document.hidden || latest.current.page === undefined) return
      fetchRows(async (signal) => {
        const fresh = await latest.current.load({ limit: PAGE, cursor: undefined }, signal)
        return (old) => (old.page === undefined ? fresh : onTop(fresh, old.page, latest.current.keyOf))
      })
    }, LIVE_MS)
    return () => clearInterval(timer)
  }, [isLive, what])

  return {
    rows: page?.data,
    total: page?.total,
    failure,
    hasMore: page !== undefined && page.next_cursor !== null,
    isLoading,
    more: () => {
      const cursor = page?.next_cursor
      if (cursor === null || cursor === undefined || isLoading) return
      setState((old) => ({ ...old, isLoading: true }))
      fetchRows(async (signal) => {
        const next = await latest.current.load({ limit: PAGE, cursor }, signal)
        // Live may have put other rows in their place.
        return ({ page: old = next }) =>
          old.next_cursor === cursor ? { ...next, data: [...old.data, ...next.data] } : old
      })
    },
    refresh: useCallback(() => setRound((count) => count + 1), [])
  }
}
