/** Requests as rows of a table, and as lines of a log. */
import { milliseconds, usd, count } from "../Figures.ts"
import type { Style } from "../Look.ts"
import { type Cell, table } from "../Table.ts"
import type { Row } from "./Source.ts"

/** `2026-11-22 08:00:03`, in UTC. */
const second = (iso: string): string => iso.slice(0, 19).replace("T", " ")

export const endStyles: Readonly<Record<Row["end"], Style>> = {
  succeeded: "green",
  failed: "red",
  cancelled: "yellow",
  refused: "yellow"
}

const notesOf = ({ cache_hit, count: times, error_type, fallback_used }: Row): string =>
  [
    ...(error_type === null ? [] : [error_type]),
    ...(times > 1 ? [`${count(times)} alike`] : []),
    ...(fallback_used ? ["fallback"] : []),
    ...(cache_hit ? ["cache"] : [])
  ].join(", ")

const head = ["TIME (UTC)", "STATUS", "MODEL", "PROVIDER", "KEY", "USER", "TOKENS", "BILLED", "LATENCY", "NOTE", "ID"]

const cellsOf = (row: Row): ReadonlyArray<Cell> => [
  second(row.created_at),
  { text: String(row.status ?? row.end), style: endStyles[row.end] },
  row.model ?? "-",
  row.provider === null || row.provider === "" ? "-" : row.provider,
  row.key_name ?? row.key_id ?? "-",
  row.owner_name ?? "-",
  `${count(row.prompt_tokens)} + ${count(row.completion_tokens)}`,
  usd(row.billed_usd),
  milliseconds(row.latency_ms),
  notesOf(row) === "" ? "-" : notesOf(row),
  row.id
]

export const requestTable = (rows: ReadonlyArray<Row>) => table(head, rows.map(cellsOf), "There are no such requests.")

/** One line of a log, whose fields keep their places. */
export const logCells = (row: Row): ReadonlyArray<Cell> => {
  const [time = "", status = "", ...rest] = cellsOf(row)
  return [{ text: typeof time === "string" ? time : time.text, style: "dim" }, status, ...rest]
}
