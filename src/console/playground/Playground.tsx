/**
 * The playground: a conversation with a model, or with up to three of them side by side, like a
 * program would have it. Select the models and the parameters, watch the answers arrive, and
 * inspect the request.
 */
import { useMemo, useState } from "preact/hooks"
import { Choice } from "../parts/Field.tsx"
import { Broken } from "../parts/States.tsx"
import { replacePage } from "../router.tsx"
import { playKey } from "../session.ts"
import { useStore } from "../store.ts"
import { Composer } from "./Composer.tsx"
import { bodyOf, type Members, readMore } from "./form.ts"
import { ModelChoice } from "./ModelChoice.tsx"
import { askedOf, useModels, withoutPictures } from "./models.ts"
import { ParametersForm } from "./ParametersForm.tsx"
import { PlayKey } from "./PlayKey.tsx"
import { AsProgram, RouteView } from "./RequestDetails.tsx"
import { change, claimThread, messagesOf, type Thread, thread } from "./thread.ts"
import { ThreadView } from "./ThreadView.tsx"

type Side = "settings" | "route" | "code"

/** The next request to a model, as it stands in the composer. */
const nextRequest = ({ exchanges, parameters, pictures, prompt }: Thread, model: string): Members =>
  bodyOf(parameters, model, messagesOf([...exchanges, { id: 0, prompt, pictures, replies: [] }], 0))

/** `?model=` in the address chooses a model, once. */
const begin = (): void => {
  claimThread()
  const wanted = new URLSearchParams(location.search).get("model")
  if (wanted === null) return
  change({ models: [wanted] })
  replacePage(location.pathname)
}

export const Playground = () => {
  const key = useStore(playKey)
  useState(begin)
  const now = useStore(thread)
  const models = useModels(key?.secret)
  const [side, setSide] = useState<Side>("settings")
  const known = models.data ?? []
  const asked = askedOf(now.models, known)
  const missing = known.length === 0 ? undefined : now.models.find((id) => !known.some((model) => model.id === id))
  const first = asked[0] ?? ""
  const body = useMemo(() => nextRequest(now, first), [now, first])
  const obstacle =
    key === null
      ? "Choose an API key first."
      : typeof readMore(now.parameters.more) === "string"
        ? "The JSON in the settings has a fault."
        : asked.length === 0 && !models.isLoading
          ? "This key may use no chat model."
          : null
  return (
    <div class="stack">
      <PlayKey />
      <div class="playground">
        <div class="talk">
          {key === null ? null : (
            <div class="panel">
              {models.failure === undefined ? null : <Broken failure={models.failure} onRetry={models.reload} />}
              <ModelChoice asked={asked} models={known} />
              {missing === undefined ? null : <p class="note">This key may not use {missing}.</p>}
            </div>
          )}
          <ThreadView asked={asked} />
          <Composer asked={asked} blind={withoutPictures(asked, known)} obstacle={obstacle} />
        </div>
        <section class="panel request" aria-label="Request">
          <Choice
            legend="Show"
            value={side}
            onValue={(value) => setSide(value as Side)}
            options={[
              ["settings", "Settings"],
              ["route", "Route"],
              ["code", "As code"]
            ]}
          />
          {side === "settings" ? <ParametersForm /> : null}
          {side === "route" && key !== null ? <RouteView body={body} secret={key.secret} /> : null}
          {side === "code" ? <AsProgram body={body} /> : null}
        </section>
      </div>
    </div>
  )
}
