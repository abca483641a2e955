/**
 * Picks models for a whitelist: type a part to find a model or `author/*`, and remove one by its
 * chip. It marks entries that match no model, before the gateway refuses them.
 */
import { useId, useState } from "preact/hooks"
import { call } from "../client.ts"
import { Icon } from "../parts/Icon.tsx"
import { useLoad } from "../useLoad.ts"
import { type Source } from "./source.ts"

interface Models {
  readonly data: ReadonlyArray<{ readonly id: string }>
}

const MOST_OPTIONS = 200

/** The ids of all models and the patterns of their authors. Undefined if they cannot be read. */
export const useModels = (source: Source): ReadonlyArray<string> | undefined => {
  const path = source.isOwn ? "/v1/portal/models" : "/v1/admin/models"
  const { data } = useLoad(path, (signal) => call<Models>(path, { signal }))
  if (data === undefined) return undefined
  const ids = data.data.map(({ id }) => id)
  const authors = new Set(ids.map((id) => `${id.slice(0, id.indexOf("/"))}/*`))
  return [...[...authors].sort(), ...ids]
}

/** True if an id, a pattern or a bare slug matches a model. */
export const isKnown = (known: ReadonlyArray<string>, entry: string): boolean =>
  entry === "*" || known.some((id) => id === entry || id.slice(id.indexOf("/") + 1) === entry)

export const entriesOf = (text: string): ReadonlyArray<string> => text.split(/[\s,]+/).filter((entry) => entry !== "")

interface ModelPickerProps {
  readonly chosen: ReadonlyArray<string>
  readonly onChosen: (chosen: ReadonlyArray<string>) => void
  /** What is typed and not picked yet. It counts when the form is sent. */
  readonly typed: string
  readonly onTyped: (typed: string) => void
  readonly known: ReadonlyArray<string> | undefined
  readonly fault: string | undefined
}

export const ModelPicker = ({ chosen, fault, known, onChosen, onTyped, typed }: ModelPickerProps) => {
  const id = useId()
  const [round, setRound] = useState(0)
  const pick = (text: string) => {
    onChosen([...new Set([...chosen, ...entriesOf(text)])])
    onTyped("")
    setRound(round + 1)
  }
  const strange = known === undefined ? [] : chosen.filter((entry) => !isKnown(known, entry))
  const words =
    fault ??
    (strange.length > 0
      ? `No model matches ${strange.join(", ")}.`
      : "Type to find models, or author/* for all of an author. None: every model.")
  return (
    <div class={fault === undefined && strange.length === 0 ? "field" : "field wrong"}>
      <label for={id}>Models</label>
      {chosen.length === 0 ? null : (
        <ul class="chips" aria-label="Models that the key may use">
          {chosen.map((entry) => (
            <li key={entry}>
              <button
                type="button"
                aria-label={`Remove ${entry}`}
                onClick={() => onChosen(chosen.filter((other) => other !== entry))}
              >
                {entry}
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <input
        key={round}
        id={id}
        value={typed}
        placeholder={chosen.length === 0 ? "all" : "another"}
        autocomplete="off"
        autoFocus={round > 0}
        spellcheck={false}
        list={`${id}-list`}
        aria-describedby={`${id}-hint`}
        aria-invalid={fault === undefined && strange.length === 0 ? undefined : true}
        onInput={(event) => {
          const text = event.currentTarget.value
          // A pick from the list, or the end of an entry.
          if (known?.includes(text) === true || /[\s,]$/.test(text)) pick(text)
          else onTyped(text)
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || typed.trim() === "") return
          event.preventDefault()
          pick(typed)
        }}
        onBlur={() => {
          if (typed.trim() === "") return
          onChosen([...new Set([...chosen, ...entriesOf(typed)])])
          onTyped("")
        }}
      />
      <datalist id={`${id}-list`}>
        {(known ?? [])
          .filter((entry) => !chosen.includes(entry))
          .slice(0, MOST_OPTIONS)
          .map((entry) => (
            <option key={entry} value={entry} />
          ))}
      </datalist>
      <p class="hint" id={`${id}-hint`} role={fault === undefined ? undefined : "alert"}>
        {words}
      </p>
    </div>
  )
}
