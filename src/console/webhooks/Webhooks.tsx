/**
 * The webhooks: their addresses with what waits and what failed, the deliveries of the last day,
 * and the events that were given up, which can be sent again.
 */
import { useState } from "preact/hooks"
import { type DeadLetterRecord, type DeliveryEntry, type WebhookRecord } from "../../api/Webhooks.ts"
import { asFailure, call, withQuery } from "../client.ts"
import { count, moment, momentSeconds, NONE, zone } from "../format.ts"
import { notify } from "../notices.ts"
import { Badge, type Tone } from "../parts/Badge.tsx"
import { SelectField } from "../parts/Field.tsx"
import { ListPanel } from "../parts/ListPanel.tsx"
import { Page, Panel, Tabs } from "../parts/Page.tsx"
import { Empty, Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { type ListPage, useList } from "../useList.ts"
import { type Loading, useLoad } from "../useLoad.ts"
import { useQuery } from "../useQuery.ts"

interface Addresses {
  readonly data: ReadonlyArray<WebhookRecord>
}

const hours = "in the last day"

export const Webhooks = ({ part }: { readonly part: string }) => {
  const addresses = useLoad("webhooks", (signal) => call<Addresses>("/v1/admin/webhooks", { signal }), {
    everyMs: 10_000
  })
  return (
    <Page title="Webhooks" lead={`Where events are sent to. Local time, ${zone()}.`}>
      <Loaded of={addresses} what="The list of webhooks" rows={4}>
        {({ data }) => <AddressTable of={data} />}
      </Loaded>
      <Tabs
        label="Events"
        current={part}
        tabs={[
          ["", "Dead letters", "/webhooks"],
          ["deliveries", "Deliveries", "/webhooks/deliveries"]
        ]}
      />
      {part === "deliveries" ? <Deliveries /> : <DeadLetters addresses={addresses} />}
    </Page>
  )
}

const AddressTable = ({ of }: { readonly of: Addresses["data"] }) => (
  <Panel title="Addresses" note={`Counts and moments are ${hours}`} class="flush">
    {of.length === 0 ? (
      <Empty title="No webhook is set up">
        Name addresses under <code>webhooks</code> in the settings file, and restart the gateway.
      </Empty>
    ) : (
      <Table
        caption="Webhooks"
        rows={of}
        keyOf={({ url }) => url}
        columns={[
          {
            head: "Address",
            cell: ({ events, url }) => (
              <span class="two-lines">
                <code>{url}</code>
                <span title={events?.join(", ")}>
                  {events === null ? "not in the settings any more" : `${events.length} kinds of events`}
                </span>
              </span>
            )
          },
          { head: "Pending", numeric: true, cell: ({ pending }) => count(pending) },
          { head: "Delivered", numeric: true, cell: ({ delivered }) => count(delivered) },
          { head: "Dead", numeric: true, cell: ({ dead }) => count(dead) },
          {
            head: "Last success",
            cell: ({ last_delivered_at }) => (last_delivered_at === null ? NONE : moment(last_delivered_at))
          },
          {
            head: "Last failure",
            cell: ({ last_error, last_failed_at }) => (
              <span class="two-lines">
                <span>{last_failed_at === null ? NONE : moment(last_failed_at)}</span>
                <span>{last_error ?? ""}</span>
              </span>
            )
          }
        ]}
      />
    )}
  </Panel>
)

interface Retried {
  readonly retried: number
  readonly left: number
}

const DeadLetters = ({ addresses }: { readonly addresses: Loading<Addresses> }) => {
  const list = useList<DeadLetterRecord>({
    what: "dead letters",
    load: (asked, signal) =>
      call<ListPage<DeadLetterRecord>>(withQuery("/v1/admin/webhooks/dead-letters", { ...asked }), { signal }),
    keyOf: ({ id }) => id
  })
  const [busy, setBusy] = useState<string>()
  /** Runs one retry at a time and tells how it ended. */
  const run = (what: string, path: string, say: (answer: Retried) => string) => {
    setBusy(what)
    call<Retried>(path, { method: "POST" })
      .then((answer) => notify(say(answer)))
      .catch((thrown: unknown) => notify(asFailure(thrown).message))
      .finally(() => {
        setBusy(undefined)
        list.refresh()
        addresses.reload()
      })
  }
  const path = "/v1/admin/webhooks/dead-letters"
  return (
    <ListPanel
      of={list}
      nouns={["dead letter", "dead letters"]}
      what="The list of dead letters"
      actions={
        <button
          type="button"
          class="button small"
          disabled={busy !== undefined || (list.rows ?? []).length === 0}
          onClick={() =>
            run("all", `${path}/retry`, ({ left, retried }) =>
              left === 0 ? `${count(retried)} queued again` : `${count(retried)} queued again, ${count(left)} left`
            )
          }
        >
          Retry all
        </button>
      }
      empty={<Empty title="No dead letter">Every event was delivered, or still waits.</Empty>}
    >
      {(rows) => (
        <Table
          caption="Dead letters"
          rows={rows}
          keyOf={({ id }) => id}
          columns={[
            {
              head: "Failed",
              cell: ({ event_id, failed_at }) => (
                <span class="two-lines">
                  <span class="nowrap">{momentSeconds(failed_at)}</span>
                  <code title={event_id}>{event_id.slice(0, 14)}</code>
                </span>
              )
            },
            { head: "Event", cell: ({ type }) => <code>{type}</code> },
            { head: "Address", cell: ({ url }) => <code>{url}</code> },
            {
              head: "Last error",
              cell: ({ attempts, last_error }) => (
                <span class="two-lines">
                  <span>{last_error}</span>
                  <span>{count(attempts)} attempts</span>
                </span>
              )
            },
            {
              head: "Body",
              cell: ({ body }) => (
                <details>
                  <summary>Show</summary>
                  <code>{body}</code>
                </details>
              )
            },
            {
              head: "Retry",
              bare: true,
              cell: ({ event_id, id }) => (
                <button
                  type="button"
                  class="button small"
                  disabled={busy !== undefined}
                  aria-label={`Retry ${event_id}`}
                  onClick={() => run(id, `${path}/${id}/retry`, () => "Queued again")}
                >
                  Retry
                </button>
              )
            }
          ]}
        />
      )}
    </ListPanel>
  )
}

const filters = ["state"] as const
const states = ["pending", "delivered", "dead"] as const
const tones: Readonly<Record<DeliveryEntry["state"], Tone>> = { pending: "warn", delivered: "good", dead: "bad" }

const Deliveries = () => {
  const [{ state }, set] = useQuery(filters)
  const list = useList<DeliveryEntry>({
    what: `deliveries ${state}`,
    load: (asked, signal) =>
      call<ListPage<DeliveryEntry>>(withQuery("/v1/admin/webhooks/deliveries", { state, ...asked }), { signal }),
    keyOf: ({ id }) => id
  })
  return (
    <>
      <div class="filters">
        <SelectField
          label="State"
          value={state}
          onValue={(picked) => set({ state: picked })}
          options={[["", "any"], ...states]}
        />
      </div>
      <ListPanel
        of={list}
        nouns={["delivery", "deliveries"]}
        what="The list of deliveries"
        empty={<Empty title="No delivery">Ended deliveries are shown for a day.</Empty>}
      >
        {(rows) => (
          <Table
            caption="Deliveries"
            rows={rows}
            keyOf={({ id }) => id}
            columns={[
              { head: "Queued", cell: ({ created_at }) => <span class="nowrap">{momentSeconds(created_at)}</span> },
              { head: "State", cell: (row) => <Badge text={row.state} tone={tones[row.state]} /> },
              {
                head: "Event",
                cell: ({ event_id, type }) => (
                  <span class="two-lines">
                    <code>{type}</code>
                    <code title={event_id}>{event_id.slice(0, 14)}</code>
                  </span>
                )
              },
              { head: "Address", cell: ({ url }) => <code>{url}</code> },
              {
                head: "Attempts",
                numeric: true,
                cell: ({ attempts, last_error }) => (
                  <span class="two-lines">
                    <span>{count(attempts)}</span>
                    <span>{last_error ?? ""}</span>
                  </span>
                )
              },
              {
                head: "Next attempt",
                cell: ({ next_attempt_at }) => (next_attempt_at === null ? NONE : momentSeconds(next_attempt_at))
              }
            ]}
          />
        )}
      </ListPanel>
    </>
  )
}
