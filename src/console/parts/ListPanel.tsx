/** A list page by page in a panel: its head with Live and Refresh, its rows, and "Show more". */
import { type ComponentChildren } from "preact"
import { count } from "../format.ts"
import { type List } from "../useList.ts"
import { Panel } from "./Page.tsx"
import { Broken, Missing, Skeleton } from "./States.tsx"

interface ListPanelProps<Row> {
  readonly of: List<Row>
  /** One row and several: `["key", "keys"]`. */
  readonly nouns: readonly [one: string, many: string]
  /** The name of the feature, for gateways without it. */
  readonly what: string
  /** Shown instead of rows where there are none. */
  readonly empty: ComponentChildren
  /** Beside Refresh, such as Live and "Download CSV". */
  readonly actions?: ComponentChildren
  readonly children: (rows: ReadonlyArray<Row>) => ComponentChildren
}

/** `50+ keys`, or `50 of 5,024 keys` where the API counts them. */
const titleOf = <Row,>({ hasMore, rows = [], total }: List<Row>, [one, many]: readonly [string, string]): string => {
  const all = total ?? rows.length
  const noun = all === 1 ? one : many
  if (total !== undefined && total > rows.length) return `${count(rows.length)} of ${count(total)} ${noun}`
  return `${count(rows.length)}${hasMore ? "+" : ""} ${noun}`
}

export const ListPanel = <Row,>({ actions, children, empty, nouns, of, what }: ListPanelProps<Row>) => {
  const { failure, hasMore, isLoading, more, refresh, rows } = of
  if (rows === undefined) {
    if (failure === undefined) return <Skeleton rows={12} />
    return failure.isMissing ? <Missing what={what} /> : <Broken failure={failure} onRetry={refresh} />
  }
  return (
    <Panel
      title={titleOf(of, nouns)}
      note={
        <span class="actions">
          {actions}
          <button type="button" class="button small" onClick={refresh}>
            Refresh
          </button>
        </span>
      }
      class="flush"
    >
      {failure === undefined ? null : (
        <p class="stale" role="status">
          Not up to date: {failure.message}
        </p>
      )}
      {rows.length === 0 ? empty : <div aria-busy={isLoading}>{children(rows)}</div>}
      {hasMore ? (
        <div class="more">
          <button type="button" class="button" aria-disabled={isLoading} onClick={more}>
            Show more
          </button>
        </div>
      ) : null}
    </Panel>
  )
}

interface LiveProps {
  readonly isLive: boolean
  readonly onLive: (isLive: boolean) => void
  /** Live needs the newest rows on top. */
  readonly isPossible?: boolean
}

export const LiveSwitch = ({ isLive, isPossible = true, onLive }: LiveProps) => (
  <label class="switch" title={isPossible ? undefined : "Live needs the newest first"}>
    <input
      type="checkbox"
      role="switch"
      checked={isLive}
      disabled={!isPossible}
      onChange={(event) => onLive(event.currentTarget.checked)}
    />
    Live
  </label>
)
