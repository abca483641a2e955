/** A receipt as text: facts, attempts as a waterfall, and the bill. */
import type { AdminGenerationRecord, GenerationRecord } from "../../api/Generations.ts"
import type { RequestRow } from "../../api/Requests.ts"
import { count, milliseconds, usd } from "../Figures.ts"
import type { Style } from "../Look.ts"
import { oneLine } from "../Output.ts"
import { type Cell, facts, type Page, page, table } from "../Table.ts"
import { endStyles } from "./Rows.ts"

type Receipt = GenerationRecord | (typeof AdminGenerationRecord)["Type"]
type Attempt = Receipt["attempts"][number]

/** The columns of the waterfall. */
const BAR = 24

const attemptStyles: Readonly<Record<Attempt["status"], Style>> = {
  ok: "green",
  error: "red",
  timeout: "red",
  cancelled: "yellow",
  skipped: "dim"
}

/** `░` waits, `█` runs; before both is `·`. A table joins blanks. */
const bar = ({ ended_ms, started_ms, wait_ms }: Attempt, totalMs: number): string => {
  if (started_ms === null || totalMs <= 0) return ""
  const at = (ms: number) => Math.min(BAR, Math.max(0, Math.round((ms / totalMs) * BAR)))
  const from = Math.min(at(started_ms), BAR - 1)
  const to = Math.max(from + 1, at(ended_ms ?? started_ms))
  const waits = Math.min(from, Math.max(0, from - at(Math.max(0, started_ms - wait_ms))))
  return "·".repeat(from - waits) + "░".repeat(waits) + "█".repeat(to - from)
}

const attemptRow = (attempt: Attempt, index: number, totalMs: number): ReadonlyArray<Cell> => [
  String(index + 1),
  attempt.key === undefined ? attempt.provider : `${attempt.provider}, key ${attempt.key}`,
  attempt.model,
  {
    text: [attempt.status, attempt.http_status, attempt.error_type].filter((part) => part !== null).join(" "),
    style: attemptStyles[attempt.status]
  },
  milliseconds(attempt.wait_ms),
  milliseconds(attempt.started_ms),
  milliseconds(attempt.ended_ms),
  `${count(attempt.prompt_tokens)} + ${count(attempt.completion_tokens)}`,
  usd(attempt.cost_usd),
  { text: bar(attempt, totalMs), style: attemptStyles[attempt.status] }
]

const attemptsOf = ({ attempts, excluded, latency_ms }: Receipt): Page => {
  const totalMs = Math.max(latency_ms, ...attempts.map(({ ended_ms }) => ended_ms ?? 0))
  const words = attempts.flatMap((attempt, index) =>
    "message" in attempt && attempt.message !== null ? [oneLine(`${index + 1} said: ${attempt.message}`)] : []
  )
  return page(
    table(
      ["", "PROVIDER", "MODEL", "STATUS", "WAIT", "START", "END", "TOKENS", "COST", ""],
      attempts.map((attempt, index) => attemptRow(attempt, index, totalMs)),
      "No provider was called."
    ),
    ...words,
    ...excluded.map(({ model, reason, slug }) => oneLine(`Excluded: ${slug} (${model}), ${reason}`))
  )
}

/** Fees are per thousand calls, prices per million tokens. */
const priceOf = ({ class: of, price }: Receipt["lines"][number]): string =>
  of === "request" || of === "web_search" ? `${usd(price)}/1,000` : `${usd(price)}/1M`

const billOf = ({ cost, lines }: Receipt): Page =>
  table(
    ["COST", "QUANTITY", "PRICE", "USD"],
    [
      ...lines.map((line): ReadonlyArray<Cell> => [
        line.assumed === true ? `${line.class} (price assumed)` : line.class,
        count(line.quantity),
        priceOf(line),
        usd(line.cost_usd)
      ]),
      ["total", "", "", usd(cost.total_cost_usd)],
      ["markup", "", "", usd(cost.markup_usd)],
      ["billed", "", "", { text: usd(cost.billed_usd), style: "bold" }]
    ],
    ""
  )

const named = (id: string | null, name: string | null): string | null =>
  id === null ? null : name === null ? id : `${name} (${id})`

const list = (members: Readonly<Record<string, unknown>>): string | null => {
  const entries = Object.entries(members)
  return entries.length === 0 ? null : entries.map(([name, value]) => `${name} ${String(value)}`).join(", ")
}

const endOf = ({ cancelled, error_type }: Receipt): RequestRow["end"] =>
  cancelled ? "cancelled" : error_type === null ? "succeeded" : "failed"

/** `row`: the same request in the list, which has the names of its key and user. */
export const receiptPage = (receipt: Receipt, row: RequestRow | null): Page => {
  const { cost, reservation, usage } = receipt
  const end = endOf(receipt)
  const status = receipt.status === null ? "" : `, status ${receipt.status}`
  const error = receipt.error_type === null ? "" : `, ${receipt.error_type}`
  const cached = usage.prompt_tokens_details?.cached_tokens ?? 0
  return page(
    facts([
      ["id", receipt.id],
      ["request", receipt.request_id],
      ["ended", { text: `${end}${status}${error}`, style: endStyles[end] }],
      ["time", `${receipt.created_at.slice(0, 19).replace("T", " ")} UTC`],
      ["endpoint", receipt.endpoint === null ? null : receipt.endpoint + (receipt.streamed ? ", streamed" : "")],
      [
        "model",
        receipt.requested_model === undefined ? receipt.model : `${receipt.model}, asked as ${receipt.requested_model}`
      ],
      ["provider", receipt.provider === "" ? null : receipt.provider],
      ["key", "key_id" in receipt ? named(receipt.key_id, row?.key_name ?? null) : null],
      ["user", row === null ? null : named(row.owner, row.owner_name)],
      [
        "tokens",
        `${count(usage.prompt_tokens)} + ${count(usage.completion_tokens)}${cached > 0 ? `, ${count(cached)} of them cached` : ""}, by ${receipt.usage_source}`
      ],
      [
        "latency",
        receipt.time_to_first_token_ms === null
          ? milliseconds(receipt.latency_ms)
          : `${milliseconds(receipt.latency_ms)}, first token after ${milliseconds(receipt.time_to_first_token_ms)}`
      ],
      ["finish", receipt.finish_reason],
      ["cache", receipt.cache_hit ? "answered from the cache" : null],
      ["fallback", receipt.fallback_used ? "another provider than the first answered" : null],
      ["sticky", receipt.sticky ?? null],
      ["tier", receipt.service_tier],
      ["parameters", list(receipt.parameters)],
      ["dropped", receipt.dropped.length === 0 ? null : receipt.dropped.join(", ")],
      ["masked", list(receipt.masked)],
      [
        "reserved",
        reservation.reserved_usd + reservation.extended_usd === 0
          ? null
          : `${usd(reservation.reserved_usd + reservation.extended_usd)}, settled ${usd(reservation.settled_usd)}`
      ],
      ["billed", usd(cost.billed_usd)]
    ]),
    "",
    attemptsOf(receipt),
    "",
    billOf(receipt)
  )
}

/** A refusal has no attempts and no cost. */
export const refusalPage = (row: RequestRow): Page =>
  facts([
    ["id", row.id],
    ["request", row.request_id],
    ["ended", { text: `refused, status ${row.status ?? "-"}, ${row.error_type ?? "-"}`, style: endStyles.refused }],
    ["code", row.error_code],
    ["message", row.error_message],
    ["time", `${row.created_at.slice(0, 19).replace("T", " ")} UTC`],
    ["endpoint", row.endpoint],
    ["model", row.model],
    ["key", named(row.key_id, row.key_name)],
    ["user", named(row.owner, row.owner_name)],
    ["stands for", row.count > 1 ? `${count(row.count)} alike requests of one minute` : null]
  ])
