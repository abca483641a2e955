/**
 * A table that turns into a list of cards where columns do not fit. Its roles are explicit, because
 * browsers drop them from rows laid out as blocks.
 */
import { type ComponentChildren } from "preact"
import { useLayoutEffect, useRef } from "preact/hooks"
import { isDescending, reverse, sortedBy, type Sorting } from "../sorting.ts"

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  /** Numbers are right-aligned, in digits of equal width. */
  readonly numeric?: boolean
  /** The heading is for screen readers only. */
  readonly bare?: boolean
  /** The order that the heading asks for first: `name`, or `-cost` for the highest first. */
  readonly sort?: string
}

interface TableProps<Row> {
  /** The content of the table, for screen readers. */
  readonly caption: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: ReadonlyArray<Row>
  readonly keyOf: (row: Row) => string
  readonly quiet?: (row: Row) => boolean
  readonly sorting?: Sorting
  /** A click on a row follows the row's first link. The keyboard has the link. */
  readonly isClickable?: boolean
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

/**
 * Follows the link of the row, unless the click was for something else: a control, or selecting
 * text.
 */
const followRow = (event: MouseEvent): void => {
  if (!(event.target instanceof Element) || event.button > 1) return
  if (event.target.closest("a, button, input, select, label, summary") !== null) return
  if (getSelection()?.isCollapsed === false) return
  const link = event.target.closest("tr")?.querySelector<HTMLAnchorElement>("a[href]")
  if (link === null || link === undefined) return
  if (event.button === 1 || event.metaKey || event.ctrlKey || event.shiftKey)
    window.open(link.href, "_blank", "noopener")
  else link.click()
}

interface HeadingProps {
  readonly head: string
  readonly bare: boolean | undefined
  readonly sort: string | undefined
  readonly sorting: Sorting | undefined
}

const Heading = ({ bare, head, sort, sorting }: HeadingProps) => {
  if (bare === true) return <span class="unseen">{head}</span>
  if (sort === undefined || sorting === undefined) return <>{head}</>
  const isSorted = sortedBy(sorting.value) === sortedBy(sort)
  return (
    <button type="button" onClick={() => sorting.onValue(isSorted ? reverse(sorting.value) : sort)}>
      {head}
      <span class="arrow" aria-hidden="true">
        {isSorted ? (isDescending(sorting.value) ? "↓" : "↑") : ""}
      </span>
    </button>
  )
}

const ariaSort = (sort: string | undefined, sorting: Sorting | undefined) =>
  sort === undefined || sorting === undefined
    ? undefined
    : sortedBy(sorting.value) !== sortedBy(sort)
      ? "none"
      : isDescending(sorting.value)
        ? "descending"
        : "ascending"

/** The headings of cards are not visible, so a select offers the orders. */
const SortSelect = <Row,>({ columns, sorting }: Pick<TableProps<Row>, "columns"> & { readonly sorting: Sorting }) => (
  <label class="sort-select">
    Sort{" "}
    <select value={sorting.value} onChange={(event) => sorting.onValue(event.currentTarget.value)}>
      {columns.flatMap(({ head, sort }) =>
        sort === undefined
          ? []
          : (sorting.isOneWay === true ? [sort] : [sort, reverse(sort)]).map((value) => (
              <option key={value} value={value}>
                {head} {isDescending(value) ? "↓" : "↑"}
              </option>
            ))
      )}
    </select>
  </label>
)

export const Table = <Row,>(props: TableProps<Row>) => {
  const { caption, columns, isClickable = false, keyOf, quiet, rows, sorting } = props
  const frame = useCards(columns.length)
  const follow = isClickable ? followRow : undefined
  return (
    <div class={isClickable ? "table-frame clickable" : "table-frame"} ref={frame}>
      {sorting === undefined ? null : <SortSelect columns={columns} sorting={sorting} />}
      <table role="table" aria-label={caption}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ bare, head, numeric, sort }) => (
              <th
                key={head}
                role="columnheader"
                scope="col"
                class={numeric === true ? "num" : undefined}
                aria-sort={ariaSort(sort, sorting)}
              >
                <Heading head={head} bare={bare} sort={sort} sorting={sorting} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup" onClick={follow} onAuxClick={follow}>
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
