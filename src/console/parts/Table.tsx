/**
 * A table that turns into a list of cards where columns do not fit. Its roles are explicit, because
 * browsers drop them from rows laid out as blocks.
 */
import { type ComponentChildren } from "preact"
import { useLayoutEffect, useRef } from "preact/hooks"

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  /** Numbers are right-aligned, in digits of equal width. */
  readonly numeric?: boolean
  /** The heading is for screen readers only. */
  readonly bare?: boolean
}

interface TableProps<Row> {
  /** The content of the table, for screen readers. */
  readonly caption: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: ReadonlyArray<Row>
  readonly keyOf: (row: Row) => string
  readonly quiet?: (row: Row) => boolean
}

/** Approximate width of a column, in rem. */
const COLUMN = 6

/** Shows cards while the columns do not fit. */
const useCards = (columns: number) => {
  const frame = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = frame.current
    if (element === null) return
    const needed = columns * COLUMN * parseFloat(getComputedStyle(document.documentElement).fontSize)
    const fit = () => element.classList.toggle("cards", element.clientWidth < needed)
    fit()
    const observer = new ResizeObserver(fit)
    observer.observe(element)
    return () => observer.disconnect()
  }, [columns])
  return frame
}

export const Table = <Row,>({ caption, columns, keyOf, quiet, rows }: TableProps<Row>) => {
  const frame = useCards(columns.length)
  return (
    <div class="table-frame" ref={frame}>
      <table role="table" aria-label={caption}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ bare, head, numeric }) => (
              <th key={head} role="columnheader" scope="col" class={numeric === true ? "num" : undefined}>
                {bare === true ? <span class="unseen">{head}</span> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row" class={quiet?.(row) === true ? "faded" : undefined}>
              {columns.map(({ bare, cell, head, numeric }, index) => (
                <td
                  key={head}
                  role={index === 0 ? "rowheader" : "cell"}
                  class={numeric === true ? "num" : undefined}
                  data-label={bare === true ? undefined : head}
                >
                  <div>{cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
