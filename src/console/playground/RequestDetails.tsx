/** The next request before it is sent: its planned route, and the request as code. */
import { useState } from "preact/hooks"
import { type RoutePreview } from "../../api/Route.ts"
import { call } from "../client.ts"
import { count, ms, percent, usd, words } from "../format.ts"
import { Badge } from "../parts/Badge.tsx"
import { Copy } from "../parts/Copy.tsx"
import { Choice } from "../parts/Field.tsx"
import { Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { type Members } from "./form.ts"
import { useLoad } from "../useLoad.ts"
import { curlOf, pythonOf, shortened, typescriptOf } from "./snippets.ts"

interface RouteProps {
  readonly body: Members
  readonly secret: string
}

/** The route as of when it was opened. Each preview counts as a request of the key. */
export const RouteView = ({ body, secret }: RouteProps) => {
  const [of, setOf] = useState({ body, round: 0 })
  const preview = useLoad(`route ${of.round}`, (signal) =>
    call<RoutePreview>("/v1/route/preview", { body: of.body, key: secret, signal })
  )
  return (
    <div class="form">
      {of.body === body ? null : (
        <div class="actions">
          <button type="button" class="button small" onClick={() => setOf({ body, round: of.round + 1 })}>
            Refresh
          </button>
          <span class="quiet">The request has changed since.</span>
        </div>
      )}
      <Loaded of={preview} what="The route preview">
        {({ candidates, error, excluded, likely_completion_tokens, prompt_tokens, sort }) => (
          <div class="stack">
            <p class="quiet">
              For {count(prompt_tokens)} prompt tokens and some {count(likely_completion_tokens)} of answer, sorted by{" "}
              {sort}. No provider is called.
            </p>
            {error === null ? null : <p class="alert">{error.message}</p>}
            {candidates.length === 0 ? null : (
              <Table
                caption="Candidates, in the order of calling"
                rows={candidates.map((candidate, index) => ({ ...candidate, index }))}
                keyOf={({ index }) => String(index)}
                columns={[
                  {
                    head: "Provider",
                    cell: ({ index, model, provider }) => (
                      <span class="two-lines">
                        <b>
                          {index + 1}. {provider}
                        </b>
                        <span>{model}</span>
                      </span>
                    )
                  },
                  { head: "Expected", numeric: true, cell: ({ expected_cost_usd }) => usd(expected_cost_usd) },
                  { head: "p50", numeric: true, cell: ({ latency_ms }) => ms(latency_ms?.p50) },
                  { head: "Answered", numeric: true, cell: ({ success_rate }) => percent(success_rate) },
                  { head: "Circuit", cell: ({ circuit }) => <Badge text={circuit} /> }
                ]}
              />
            )}
            {excluded.length === 0 ? null : (
              <Table
                caption="Left out"
                rows={excluded}
                keyOf={({ model, slug }) => `${slug} ${model}`}
                columns={[
                  { head: "Left out", cell: ({ slug }) => slug },
                  { head: "Why", cell: ({ reason }) => words(reason) },
                  { head: "Expected", numeric: true, cell: ({ expected_cost_usd }) => usd(expected_cost_usd) }
                ]}
              />
            )}
          </div>
        )}
      </Loaded>
    </div>
  )
}

const languages = {
  curl: ["curl", curlOf],
  typescript: ["TypeScript", typescriptOf],
  python: ["Python", pythonOf]
} as const
type Language = keyof typeof languages

export const AsProgram = ({ body }: { readonly body: Members }) => {
  const [language, setLanguage] = useState<Language>("curl")
  const [name, write] = languages[language]
  const text = write(location.origin, shortened(body) as Members)
  return (
    <div class="form">
      <div class="actions">
        <Choice
          legend="Language"
          value={language}
          onValue={(value) => setLanguage(value as Language)}
          options={[
            ["curl", "curl"],
            ["typescript", "TypeScript"],
            ["python", "Python"]
          ]}
        />
        <Copy text={text} label={`Copy as ${name}`} words={`Copy as ${name}`} />
      </div>
      <pre class="code" tabIndex={0} role="region" aria-label={`The request as ${name}`}>
        {text}
      </pre>
    </div>
  )
}
