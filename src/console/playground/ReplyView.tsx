/** One model's reply: its text, figures, failure, and the way to its receipt. */
import { ms, usd } from "../format.ts"
import { Copy } from "../parts/Copy.tsx"
import { Link } from "../router.tsx"
import { FaultView } from "./FaultView.tsx"
import { Markdown } from "./markdown/Markdown.tsx"
import { isBusy, type Reply } from "./thread.ts"

interface ReplyProps {
  readonly of: Reply
  readonly onRegenerate?: () => void
}

export const ReplyView = ({ of, onRegenerate }: ReplyProps) => {
  const busy = isBusy(of)
  return (
    <section class="message reply" aria-label={of.model} aria-busy={busy}>
      <h2>{of.model}</h2>
      {of.reasoning === "" ? null : (
        <details open={of.text === ""}>
          <summary>Reasoning</summary>
          <p class="plain">{of.reasoning}</p>
        </details>
      )}
      {of.text === "" && busy ? (
        <p class="quiet">{of.reasoning === "" ? "Waiting for the first token" : "Reasoning"}</p>
      ) : (
        <Markdown text={of.text} />
      )}
      {of.fault === null ? null : <FaultView of={of.fault} generationId={of.generationId} />}
      <p class="quiet figures">{figuresOf(of).join(" · ")}</p>
      {busy ? null : (
        <div class="message-actions">
          {of.generationId === null ? null : (
            <Link to={`/requests/${of.generationId}`} class="button small">
              Open receipt
            </Link>
          )}
          {onRegenerate === undefined ? null : (
            <button type="button" class="button small" onClick={onRegenerate}>
              {of.fault === null ? "Regenerate" : "Try again"}
            </button>
          )}
          {of.text === "" ? null : <Copy text={of.text} label="Copy the answer" />}
        </div>
      )}
      {of.headers.length === 0 || busy ? null : (
        <details>
          <summary>Headers</summary>
          <dl class="pairs">
            {of.headers.flatMap(([name, value]) => [
              <dt key={name}>{name}</dt>,
              <dd key={`${name}=`}>
                <code>{value}</code>
              </dd>
            ])}
          </dl>
        </details>
      )}
    </section>
  )
}

const figuresOf = ({ fault, finishReason, firstTokenMs, provider, state, totalMs, usage }: Reply) => {
  const costUsd = usage?.estimated_cost_usd
  return [
    state === "stopped" ? "stopped" : finishReason === null ? null : `finish reason ${finishReason}`,
    fault === null ? provider : null,
    firstTokenMs === null ? null : `first token ${ms(firstTokenMs)}`,
    totalMs === null ? null : `whole ${ms(totalMs)}`,
    usage === null ? null : `${usage.prompt_tokens} + ${usage.completion_tokens} tokens`,
    costUsd === undefined ? null : usd(costUsd),
    usage?.cache_hit === true ? "from the cache" : null
  ].filter((part) => part !== null)
}
