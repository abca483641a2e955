/** Keys as a table: each leads to its page, and operators select rows. */
import { type ApiKey } from "../../api/Keys.ts"
import { moment, relative, usd } from "../format.ts"
import { Badge } from "../parts/Badge.tsx"
import { CheckField } from "../parts/Field.tsx"
import { Meter } from "../parts/Meter.tsx"
import { type Column, Table } from "../parts/Table.tsx"
import { Link } from "../router.tsx"
import { type Sorting } from "../sorting.ts"
import { type Task } from "./KeyTasks.tsx"
import { type Source } from "./source.ts"

const isUsable = ({ status }: ApiKey): boolean => status === "active" || status === "disabled"

interface KeyTableProps {
  readonly rows: ReadonlyArray<ApiKey>
  readonly sorting: Sorting
  readonly source: Source
  readonly selected: ReadonlyMap<string, ApiKey>
  readonly onSelected: (key: ApiKey, isOn: boolean) => void
  readonly onTask: (task: Task) => void
}

const labels = { edit: "Edit", rotate: "Rotate", revoke: "Revoke" } as const

export const KeyTable = ({ onSelected, onTask, rows, selected, sorting, source }: KeyTableProps) => {
  const ofOperators: ReadonlyArray<Column<ApiKey>> = source.isOwn
    ? []
    : [
        {
          head: "User",
          cell: ({ owner, owner_name }) =>
            owner === null ? "none" : <Link to={`/users/${owner}`}>{owner_name ?? owner}</Link>
        }
      ]
  const selecting: ReadonlyArray<Column<ApiKey>> = source.isOwn
    ? []
    : [
        {
          head: "Select",
          bare: true,
          cell: (key) =>
            key.status === "revoked" ? null : (
              <CheckField
                label={<span class="unseen">Select {key.name}</span>}
                checked={selected.has(key.id)}
                onChecked={(isOn) => onSelected(key, isOn)}
              />
            )
        }
      ]
  return (
    <Table
      caption="Keys"
      rows={rows}
      keyOf={({ id }) => id}
      quiet={(key) => !isUsable(key)}
      sorting={sorting}
      isClickable
      columns={[
        {
          head: "Name",
          sort: "name",
          cell: ({ id, name, prefix }) => (
            <span class="two-lines">
              <Link to={`/keys/${id}`} class="fade">
                {name}
              </Link>
              <code>{prefix}</code>
            </span>
          )
        },
        { head: "Status", cell: ({ status }) => <Badge text={status} /> },
        ...ofOperators,
        { head: "Tier", cell: ({ tier }) => tier },
        { head: "This month", sort: "-spent", cell: (key) => <Spent of={key} /> },
        {
          head: "Models",
          cell: ({ allowed_models }) => (allowed_models === null ? "all" : allowed_models.join(", ") || "none")
        },
        {
          head: "Last used",
          sort: "-last_used",
          cell: ({ last_used_at }) => (
            <time class="nowrap" title={moment(last_used_at)}>
              {relative(last_used_at)}
            </time>
          )
        },
        {
          head: "Expires",
          sort: "expires",
          cell: ({ expires_at }) =>
            expires_at === null ? (
              "never"
            ) : (
              <time class="nowrap" title={moment(expires_at)}>
                {relative(expires_at)}
              </time>
            )
        },
        {
          head: "Actions",
          bare: true,
          cell: (key) =>
            key.status === "revoked" ? null : (
              <div class="row-actions">
                {(["edit", "rotate", "revoke"] as const).map((kind) => (
                  <button
                    key={kind}
                    type="button"
                    class="button small"
                    aria-label={`${kind} ${key.name}`}
                    onClick={() => onTask({ kind, key })}
                  >
                    {labels[kind]}
                  </button>
                ))}
              </div>
            )
        },
        ...selecting
      ]}
    />
  )
}

export const Spent = ({ of: { monthly_budget_usd, usage } }: { readonly of: ApiKey }) => {
  const spent = usage.month_spent_usd + usage.month_reserved_usd
  return monthly_budget_usd === null ? (
    <span>{usd(spent)}</span>
  ) : (
    <span class="two-lines">
      <span class="nowrap">
        {usd(spent)} of {usd(monthly_budget_usd)}
      </span>
      <Meter share={monthly_budget_usd === 0 ? 1 : spent / monthly_budget_usd} label="Share of the budget" />
    </span>
  )
}
