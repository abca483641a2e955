/**
 * Why a request failed: the gateway's message, and each attempt with its cause. Operators also see
 * the words of the provider, which are on the receipt.
 */
import { type AdminGenerationRecord } from "../../api/Generations.ts"
import { call, withQuery } from "../client.ts"
import { ms, words } from "../format.ts"
import { Badge } from "../parts/Badge.tsx"
import { Link } from "../router.tsx"
import { isOperator, session } from "../session.ts"
import { useStore } from "../store.ts"
import { useLoad } from "../useLoad.ts"
import { hasField } from "./form.ts"
import { type Fault } from "./thread.ts"

interface Attempt {
  readonly provider: string
  readonly model: string
  readonly status: string
  readonly error_type: string | null
  readonly http_status: number | null
  readonly latency_ms: number
}

interface FaultProps {
  readonly of: Fault
  readonly generationId: string | null
}

type Recorded = typeof AdminGenerationRecord.Type

/** Faults of parameters are told at their fields. */
const pathsOf = ({ detail }: Fault): ReadonlyArray<string> => [
  ...new Set(detail.map(({ loc }) => loc.slice(1).join(".") || "the body"))
]

export const FaultView = ({ generationId, of }: FaultProps) => {
  const attempts = (of.body.details?.["attempts"] ?? []) as ReadonlyArray<Attempt>
  const asksWords = isOperator(useStore(session)) && generationId !== null && attempts.length > 0
  const recorded = useLoad(`words ${asksWords ? generationId : ""}`, async (signal) =>
    asksWords ? (await call<Recorded>(`/v1/admin/generations/${generationId}`, { signal })).attempts : []
  ).data
  const unplaced = of.detail.filter(({ loc }) => !hasField(loc.slice(1).join(".")))
  return (
    <div class="fault" role="alert">
      <p>
        <strong>{of.detail.length === 0 ? of.message : `The gateway refused ${pathsOf(of).join(", ")}.`}</strong>
      </p>
      {unplaced.map(({ loc, msg }, index) => (
        <p key={index}>
          {loc.slice(1).join(".")}: {msg}
        </p>
      ))}
      {attempts.length === 0 ? null : (
        <ol aria-label="Attempts">
          {attempts.map(({ error_type, http_status, latency_ms, provider, status }, index) => {
            const said = recorded?.[index]?.message
            return (
              <li key={index}>
                <b>{provider}</b> <Badge text={status} />{" "}
                {[error_type === null ? null : words(error_type), http_status === null ? null : `HTTP ${http_status}`]
                  .filter((part) => part !== null)
                  .join(", ")}{" "}
                <span class="quiet">{ms(latency_ms)}</span>
                {said === null || said === undefined ? null : <q class="said">{said}</q>}
              </li>
            )
          })}
        </ol>
      )}
      {of.body.request_id === undefined ? null : (
        <p class="quiet">
          Request <code>{of.body.request_id}</code>{" "}
          {generationId === null ? (
            <Link to={withQuery("/requests", { q: of.body.request_id })}>Find it in the requests</Link>
          ) : null}
        </p>
      )}
    </div>
  )
}
