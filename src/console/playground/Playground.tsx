/**
 * The playground: chats with a model like a program. Select the model and the providers, watch the
 * answer arrive, and inspect the request.
 */
import { useRef, useState } from "preact/hooks"
import { type ModelEntry } from "../../api/Models.ts"
import { call } from "../client.ts"
import { ms } from "../format.ts"
import { AreaField, CheckField, Choice, SelectField, TextField } from "../parts/Field.tsx"
import { Page } from "../parts/Page.tsx"
import { Broken, Empty } from "../parts/States.tsx"
import { playKey } from "../session.ts"
import { useStore } from "../store.ts"
import { useLoad } from "../useLoad.ts"
import { type Answer, ask } from "./sendChat.ts"
import { AnswerHeaders, AnswerReceipt, AsProgram, RouteView } from "./ResponseDetails.tsx"
import { bodyOf, type Draft, emptyDraft, type Turn } from "./form.ts"
import { PlayKey } from "./PlayKey.tsx"

type Model = typeof ModelEntry.Type
type Side = "answer" | "route" | "headers" | "receipt" | "code"

const useModels = (key: string | undefined) =>
  useLoad(`models ${key ?? ""}`, async (signal) =>
    key === undefined ? [] : (await call<{ readonly data: ReadonlyArray<Model> }>("/v1/models", { key, signal })).data
  )

export const Playground = () => {
  const key = useStore(playKey)
  const models = useModels(key?.secret)
  const chats = (models.data ?? []).filter(({ architecture }) => architecture.output_modalities.includes("text"))
  const [draft, setDraft] = useState<Draft>(emptyDraft)
  const [turns, setTurns] = useState<ReadonlyArray<Turn>>([])
  const [answer, setAnswer] = useState<Answer | null>(null)
  const [side, setSide] = useState<Side>("answer")
  const running = useRef<AbortController | null>(null)
  const chosen = { ...draft, model: draft.model === "" ? (chats[0]?.id ?? "") : draft.model }
  const busy = answer?.state === "waiting" || answer?.state === "coming"
  const body = bodyOf(chosen, turns)

  const submit = () => {
    if (key === null || busy || draft.prompt.trim() === "" || chosen.model === "") return
    const controller = new AbortController()
    running.current = controller
    setSide("answer")
    void ask({ body, key: key.secret, fresh: draft.fresh, signal: controller.signal, onAnswer: setAnswer })
  }
  const goOn = () => {
    if (answer === null) return
    setTurns([...turns, { role: "user", content: draft.prompt }, { role: "assistant", content: answer.text }])
    setDraft({ ...draft, prompt: "" })
    setAnswer(null)
  }
  return (
    <Page title="Playground" lead="Real calls, on the key's budget and limits.">
      <div class="stack">
        <PlayKey />
        {key === null ? null : (
          <div class="columns playground">
            <section class="panel form" aria-label="Request">
              {models.failure === undefined ? null : <Broken failure={models.failure} onRetry={models.reload} />}
              <SelectField
                label="Model"
                value={chosen.model}
                onValue={(model) => setDraft({ ...draft, model })}
                options={chats.map(({ id }) => id)}
              />
              <Turns of={turns} onClear={() => setTurns([])} />
              <AreaField
                label="Prompt"
                rows={5}
                value={draft.prompt}
                onValue={(prompt) => setDraft({ ...draft, prompt })}
                onSubmit={submit}
                hint="Ctrl or ⌘ with Enter sends it"
              />
              <Options draft={draft} onDraft={setDraft} />
              <div class="actions">
                {busy ? (
                  <button type="button" class="button" onClick={() => running.current?.abort()}>
                    Stop
                  </button>
                ) : (
                  <button
                    type="button"
                    class="button primary"
                    aria-disabled={draft.prompt.trim() === ""}
                    onClick={submit}
                  >
                    Send
                  </button>
                )}
                {answer !== null && answer.state === "ended" && answer.failure === null ? (
                  <button type="button" class="button" onClick={goOn}>
                    Go on from here
                  </button>
                ) : null}
              </div>
            </section>
            <section class="panel" aria-label="Result">
              <Choice
                legend="Show"
                value={side}
                onValue={(value) => setSide(value as Side)}
                options={[
                  ["answer", "Answer"],
                  ["route", "Route"],
                  ["headers", "Headers"],
                  ["receipt", "Receipt"],
                  ["code", "As code"]
                ]}
              />
              <div class="side-body">
                {side === "answer" ? <AnswerText of={answer} /> : null}
                {side === "route" ? <RouteView body={body} secret={key.secret} /> : null}
                {side === "headers" ? <AnswerHeaders of={answer} /> : null}
                {side === "receipt" ? <AnswerReceipt of={answer} secret={key.secret} /> : null}
                {side === "code" ? <AsProgram body={body} /> : null}
              </div>
            </section>
          </div>
        )}
      </div>
    </Page>
  )
}

const Turns = ({ of, onClear }: { readonly of: ReadonlyArray<Turn>; readonly onClear: () => void }) =>
  of.length === 0 ? null : (
    <div class="turns">
      <ol>
        {of.map(({ content, role }, index) => (
          <li key={index} class={role}>
            <b>{role === "user" ? "You" : "Model"}</b>
            <p>{content}</p>
          </li>
        ))}
      </ol>
      <button type="button" class="button small" onClick={onClear}>
        Start over
      </button>
    </div>
  )

interface OptionsProps {
  readonly draft: Draft
  readonly onDraft: (draft: Draft) => void
}

const Options = ({ draft, onDraft }: OptionsProps) => {
  const text = (name: keyof Draft) => ({
    value: String(draft[name]),
    onValue: (value: string) => onDraft({ ...draft, [name]: value })
  })
  const flag = (name: keyof Draft) => ({
    checked: draft[name] === true,
    onChecked: (checked: boolean) => onDraft({ ...draft, [name]: checked })
  })
  return (
    <>
      <details>
        <summary>Instructions and limits</summary>
        <div class="form">
          <AreaField label="System message" rows={2} {...text("system")} />
          <div class="pair">
            <TextField
              label="Temperature"
              type="number"
              min="0"
              max="2"
              step="0.1"
              placeholder="1"
              {...text("temperature")}
            />
            <TextField
              label="At most, tokens"
              type="number"
              min="1"
              step="1"
              placeholder="no limit"
              {...text("maxTokens")}
            />
          </div>
          <CheckField label="Stream the answer" {...flag("stream")} />
          <CheckField label="Ask afresh, past the cache" {...flag("fresh")} />
        </div>
      </details>
      <details>
        <summary>Providers</summary>
        <div class="form">
          <SelectField
            label="Sort by"
            options={[
              ["", "as the gateway does"],
              ["price", "price"],
              ["throughput", "throughput"],
              ["latency", "latency"]
            ]}
            {...text("sort")}
          />
          <div class="pair">
            <TextField label="First, in this order" placeholder="slugs" {...text("order")} />
            <TextField label="Only" placeholder="slugs" {...text("only")} />
            <TextField label="Never" placeholder="slugs" {...text("ignore")} />
          </div>
          <div class="pair">
            <TextField
              label="Prompt price, at most"
              hint="USD a million tokens"
              type="number"
              min="0"
              step="any"
              {...text("maxPromptPrice")}
            />
            <TextField
              label="Answer price, at most"
              hint="USD a million tokens"
              type="number"
              min="0"
              step="any"
              {...text("maxCompletionPrice")}
            />
          </div>
          <CheckField label="Fall back to other providers" {...flag("allowFallbacks")} />
          <CheckField label="Only those that neither train on nor retain prompts" {...flag("denyCollection")} />
        </div>
      </details>
    </>
  )
}

const AnswerText = ({ of }: { readonly of: Answer | null }) => {
  if (of === null) return <Empty title="No answer yet">Send a prompt; the answer appears here as it comes.</Empty>
  const { failure, finishReason, firstTokenMs, reasoning, state, text, totalMs, usage } = of
  const costUsd = usage?.estimated_cost_usd
  return (
    <div class="answer" aria-busy={state === "waiting" || state === "coming"}>
      {reasoning === "" ? null : (
        <details open>
          <summary>Reasoning</summary>
          <p>{reasoning}</p>
        </details>
      )}
      <div class="text" aria-live="polite">
        {text === "" && state === "waiting" ? <span class="quiet">Waiting for the first token</span> : text}
      </div>
      {failure === null ? null : <Broken failure={failure} />}
      <p class="quiet">
        {[
          state === "stopped" ? "stopped" : finishReason === null ? null : `finish reason ${finishReason}`,
          firstTokenMs === null ? null : `first token ${ms(firstTokenMs)}`,
          totalMs === null ? null : `whole ${ms(totalMs)}`,
          usage === null ? null : `${usage.prompt_tokens} + ${usage.completion_tokens} tokens`,
          costUsd === undefined ? null : `$${costUsd.toLocaleString("en", { maximumSignificantDigits: 3 })}`,
          usage?.cache_hit === true ? "from the cache" : null
        ]
          .filter((part) => part !== null)
          .join(" · ")}
      </p>
    </div>
  )
}
