/** States of a page without its content: loading, empty, failed, not available at this gateway. */
import { type ComponentChildren } from "preact"
import { type Failure } from "../client.ts"
import { type Loading } from "../useLoad.ts"

/** Grey lines with the height of the expected content. */
export const Skeleton = ({ rows = 5 }: { readonly rows?: number }) => (
  <div class="skeleton" role="status">
    <span class="unseen">Loading</span>
    {Array.from({ length: rows }, (_, index) => (
      <i key={index} />
    ))}
  </div>
)

interface EmptyProps {
  readonly title: string
  readonly children?: ComponentChildren
  readonly action?: ComponentChildren
}

export const Empty = ({ action, children, title }: EmptyProps) => (
  <div class="empty">
    <h3>{title}</h3>
    {children === undefined ? null : <p>{children}</p>}
    {action}
  </div>
)

export const Missing = ({ what }: { readonly what: string }) => (
  <Empty title="Not available on this gateway">
    {what} comes with a newer gateway, or it is switched off in the settings.
  </Empty>
)

/** The gateway's message, and the request id under which its log has details. */
export const Broken = ({ failure, onRetry }: { readonly failure: Failure; readonly onRetry?: () => void }) => (
  <div class="broken" role="alert">
    <p>
      <strong>{failure.message}</strong>
    </p>
    {failure.body.request_id === undefined ? null : (
      <p class="quiet">
        Request <code>{failure.body.request_id}</code>
      </p>
    )}
    {onRetry === undefined ? null : (
      <button type="button" class="button" onClick={onRetry}>
        Try again
      </button>
    )}
  </div>
)

interface LoadedProps<A> {
  readonly of: Loading<A>
  /** The name of the feature, for gateways without it. */
  readonly what: string
  readonly rows?: number
  readonly children: (data: A) => ComponentChildren
}

export const Loaded = <A,>({ children, of, rows, what }: LoadedProps<A>) => {
  const { data, failure, reload } = of
  if (data !== undefined) {
    return (
      <>
        {failure === undefined ? null : (
          <p class="stale" role="status">
            Not up to date: {failure.message}
          </p>
        )}
        {children(data)}
      </>
    )
  }
  if (failure === undefined) return <Skeleton {...(rows === undefined ? {} : { rows })} />
  return failure.isMissing ? <Missing what={what} /> : <Broken failure={failure} onRetry={reload} />
}
