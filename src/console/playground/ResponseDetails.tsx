/**
 * Details of an answer: the route of the request, the response headers, the receipt, and the
 * request as code.
 */
import { useState } from "preact/hooks"
import { type GenerationRecord } from "../../api/Generations.ts"
import { type RoutePreview } from "../../api/Route.ts"
import { call } from "../client.ts"
import { count, ms, NONE, percent, usd, words } from "../format.ts"
import { Badge } from "../parts/Badge.tsx"
import { Copy } from "../parts/Copy.tsx"
import { Choice } from "../parts/Field.tsx"
import { Empty, Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { useLoad } from "../useLoad.ts"
import { type Answer } from "./sendChat.ts"
import { Receipt } from "../requests/Receipt.tsx"
import { curlOf, pythonOf, typescriptOf } from "./snippets.ts"

type Body = Readonly<Record<string, unknown>>

export const RouteView = ({ body, secret }: { readonly body: Body; readonly secret: string }) => {
  const preview = useLoad(`route ${JSON.stringify(body)}`, (signal) =>
    call<RoutePreview>("/v1/route/preview", { body, key: secret, signal })
  )
  return (
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
  )
}

export const AnswerHeaders = ({ of }: { readonly of: Answer | null }) =>
  of === null || of.status === null ? (
    <Empty title="No headers yet">They come with the first answer.</Empty>
  ) : (
    <dl class="pairs">
      <dt>status</dt>
      <dd>
        <code>{of.status}</code>
      </dd>
      {of.headers.flatMap(([name, value]) => [
        <dt key={name}>{name}</dt>,
        <dd key={`${name}=`}>
          <code>{value}</code>
        </dd>
      ])}
    </dl>
  )

export const AnswerReceipt = ({ of, secret }: { readonly of: Answer | null; readonly secret: string }) => {
  const id = of?.generationId ?? null
  if (id === null || of?.state === "waiting" || of?.state === "coming") {
    return <Empty title="No receipt yet">It is written when the answer has ended.</Empty>
  }
  return <Written id={id} secret={secret} />
}

const Written = ({ id, secret }: { readonly id: string; readonly secret: string }) => {
  const record = useLoad(id, (signal) =>
    call<GenerationRecord>(`/v1/generations/${encodeURIComponent(id)}`, { key: secret, signal })
  )
  return (
    <Loaded of={record} what="The receipt">
      {(data) => (
        <div class="stack">
          <p class="quiet">
            <code>{id ?? NONE}</code> <Copy text={id} label="Copy the id" />
          </p>
          <Receipt of={data} />
        </div>
      )}
    </Loaded>
  )
}

const languages = {
  curl: ["curl", curlOf],
  typescript: ["TypeScript", typescriptOf],
  python: ["Python", pythonOf]
} as const
type Language = keyof typeof languages

export const AsProgram = ({ body }: { readonly body: Body }) => {
  const [language, setLanguage] = useState<Language>("curl")
  const [name, write] = languages[language]
  const text = write(location.origin, body)
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
