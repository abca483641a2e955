/** Requests as a table: generations and refusals. Other pages show their requests with it too. */
import { type RequestRow } from "../../api/Requests.ts"
import { count, momentSeconds, ms, NONE, usd, words } from "../format.ts"
import { type Source } from "../keys/source.ts"
import { Badge, type Tone } from "../parts/Badge.tsx"
import { type Column, Table } from "../parts/Table.tsx"
import { Link } from "../router.tsx"
import { type Sorting } from "../sorting.ts"

export type Row = RequestRow

const tones: Readonly<Record<Row["end"], Tone>> = {
  succeeded: "good",
  failed: "bad",
  cancelled: "warn",
  refused: "warn"
}

/** The status, the kind of error, and what is special. */
const Ended = ({ of }: { readonly of: Row }) => (
  <span class="two-lines">
    <span class="badges">
      <Badge text={`${of.status ?? ""} ${of.end}`.trim()} tone={tones[of.end]} />
      {of.count > 1 ? <Badge text={`× ${count(of.count)}`} tone="calm" /> : null}
      {of.cache_hit ? <Badge text="cache" tone="calm" /> : null}
      {of.fallback_used ? <Badge text="fallback" tone="calm" /> : null}
    </span>
    <span title={of.error_message ?? undefined}>
      {of.error_type === null ? "" : words(of.error_code ?? of.error_type)}
    </span>
  </span>
)

const shortened = (id: string): string => (id.length > 14 ? `${id.slice(0, 12)}…` : id)

const columns = ({ isOwn }: Source): ReadonlyArray<Column<Row>> => [
  {
    head: "Time",
    sort: "-time",
    cell: ({ created_at, id, request_id }) => (
      <span class="two-lines">
        <Link to={`/requests/${id}`} class="nowrap">
          {momentSeconds(created_at)}
        </Link>
        {request_id === null ? <span /> : <code title={`Request ${request_id}`}>{shortened(request_id)}</code>}
      </span>
    )
  },
  { head: "Status", cell: (row) => <Ended of={row} /> },
  {
    head: "Model",
    cell: ({ attempts, endpoint, model, provider }) => (
      <span class="two-lines">
        <span>{model ?? NONE}</span>
        <span>{provider === null ? endpoint : `${provider}${attempts > 1 ? `, ${attempts} attempts` : ""}`}</span>
      </span>
    )
  },
  {
    head: isOwn ? "Key" : "Key, user",
    cell: ({ key_id, key_name, owner, owner_name }) => (
      <span class="two-lines">
        {key_id === null ? <span>{NONE}</span> : <Link to={`/keys/${key_id}`}>{key_name ?? shortened(key_id)}</Link>}
        {isOwn || owner === null ? <span /> : <Link to={`/users/${owner}`}>{owner_name ?? shortened(owner)}</Link>}
      </span>
    )
  },
  {
    head: "Tokens",
    numeric: true,
    cell: ({ completion_tokens, object, prompt_tokens }) =>
      object === "refusal" ? (
        NONE
      ) : (
        <span class="nowrap">
          {count(prompt_tokens)} + {count(completion_tokens)}
        </span>
      )
  },
  {
    head: "Latency",
    sort: "-latency",
    numeric: true,
    cell: ({ latency_ms, time_to_first_token_ms }) => (
      <span class="two-lines">
        <span>{ms(latency_ms)}</span>
        <span>{time_to_first_token_ms === null ? "" : `first ${ms(time_to_first_token_ms)}`}</span>
      </span>
    )
  },
  {
    head: "Cost",
    sort: "-cost",
    numeric: true,
    cell: ({ billed_usd, object }) => (object === "refusal" ? NONE : usd(billed_usd))
  }
]

interface RequestTableProps {
  readonly rows: ReadonlyArray<Row>
  readonly source: Source
  readonly sorting?: Sorting
}

export const RequestTable = ({ rows, sorting, source }: RequestTableProps) => (
  <Table
    caption="Requests"
    rows={rows}
    keyOf={({ id }) => id}
    columns={columns(source)}
    isClickable
    {...(sorting === undefined ? {} : { sorting })}
  />
)
