/** Reads lists of the API page by page. */
import { Effect } from "effect"

interface PageOf<A> {
  readonly data: ReadonlyArray<A>
  readonly next_cursor: string | null
}

/** The query's cursor: absent for the first page. */
export type Cursor = { readonly cursor?: string }

/** Reads pages until `most` entries are there. The last page may bring more. */
export const readPages = Effect.fnUntraced(function* <A, Page extends PageOf<A>, E>(
  read: (cursor: Cursor) => Effect.Effect<Page, E>,
  most: number
) {
  const data: Array<Page["data"][number]> = []
  let cursor: string | null = null
  do {
    const page: Page = yield* read(cursor === null ? {} : { cursor })
    data.push(...page.data)
    cursor = page.next_cursor
  } while (cursor !== null && data.length < most)
  return { data, next: cursor }
})

/** Reads a whole list. */
export const readAll = <A, E>(
  read: (cursor: Cursor) => Effect.Effect<PageOf<A>, E>
): Effect.Effect<ReadonlyArray<A>, E> => Effect.map(readPages<A, PageOf<A>, E>(read, Infinity), ({ data }) => data)
