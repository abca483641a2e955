/** One provider: the last failure in its own words, its models, and the history of its circuits. */
import { type ProviderDetails } from "../../api/Providers.ts"
import { call } from "../client.ts"
import { count, duration, moment, ms, NONE, zone } from "../format.ts"
import { policyOf } from "../models/policy.ts"
import { perMillion } from "../models/prices.ts"
import { Page, Panel } from "../parts/Page.tsx"
import { Empty, Loaded } from "../parts/States.tsx"
import { Table } from "../parts/Table.tsx"
import { Link } from "../router.tsx"
import { useLoad } from "../useLoad.ts"
import { CircuitState } from "./CircuitState.tsx"
import { Failures, trafficOf } from "./Providers.tsx"
import { failureWords } from "./trouble.ts"
import { uptimeWords, UptimeStrip } from "./UptimeStrip.tsx"

export const ProviderPage = ({ slug }: { readonly slug: string }) => {
  const provider = useLoad(
    `provider ${slug}`,
    (signal) => call<ProviderDetails>(`/v1/admin/providers/${encodeURIComponent(slug)}`, { signal }),
    { everyMs: 5_000 }
  )
  return (
    <Page
      title={provider.data?.name ?? slug}
      tab={`${slug}, provider`}
      lead={
        <>
          <Link to="/providers">All providers</Link> · local time, {zone()}
        </>
      }
      actions={
        <Link to={trafficOf(slug)} class="button">
          Its requests
        </Link>
      }
    >
      <Loaded of={provider} what="The page of a provider" rows={16}>
        {(data) => (
          <div class="stack">
            <Panel title="State">
              <dl class="pairs">
                <dt>Circuit</dt>
                <dd>
                  <CircuitState of={data} />
                </dd>
                <dt>Last 24 hours</dt>
                <dd>
                  <UptimeStrip of={data} />
                </dd>
                <dt>Failures</dt>
                <dd>
                  <Failures of={data} />
                </dd>
                <dt>Address</dt>
                <dd>{data.address ?? NONE}</dd>
                <dt>Dialect</dt>
                <dd>{data.dialect}</dd>
                <dt>Data policy</dt>
                <dd>{policyOf(data.data_policy)}</dd>
              </dl>
            </Panel>
            <LastFailure of={data} />
            <Models of={data} />
            <History of={data} />
          </div>
        )}
      </Loaded>
    </Page>
  )
}

interface Props {
  readonly of: ProviderDetails
}

const LastFailure = ({ of: { last_failure } }: Props) =>
  last_failure === null ? null : (
    <Panel title="Last failure" note={moment(last_failure.at)}>
      <p>
        <b>{failureWords(last_failure)}</b>
        {last_failure.message === null ? ", without words" : `: ${last_failure.message}`}
      </p>
    </Panel>
  )

const Models = ({ of: { models } }: Props) => (
  <Panel
    title={`${count(models.length)} ${models.length === 1 ? "model" : "models"}`}
    note="USD a million tokens"
    class="flush"
  >
    <Table
      caption="Models"
      rows={models}
      keyOf={({ id }) => id}
      isClickable
      columns={[
        { head: "Model", cell: ({ id }) => <Link to={`/models/${id}`}>{id}</Link> },
        { head: "State", cell: (model) => <CircuitState of={model} /> },
        {
          head: "Uptime",
          numeric: true,
          cell: ({ calls, uptime }) => (
            <span class="lines">
              <span>{uptimeWords(uptime)}</span>
              <span>{count(calls)} calls</span>
            </span>
          )
        },
        {
          head: "First token",
          numeric: true,
          cell: ({ time_to_first_token_ms: times }) => <Times of={times} />
        },
        { head: "Whole answer", numeric: true, cell: ({ latency_ms: times }) => <Times of={times} /> },
        { head: "Prompt", numeric: true, cell: ({ pricing }) => perMillion(pricing.prompt) },
        { head: "Completion", numeric: true, cell: ({ pricing }) => perMillion(pricing.completion) },
        {
          head: "Context",
          numeric: true,
          cell: ({ context_length }) => (context_length === null ? NONE : count(context_length))
        }
      ]}
    />
  </Panel>
)

const Times = ({ of }: { readonly of: ProviderDetails["models"][number]["latency_ms"] }) =>
  of === null ? (
    <>{NONE}</>
  ) : (
    <span class="lines">
      <span>{ms(of.p50)}</span>
      <span>p95 {ms(of.p95)}</span>
    </span>
  )

const lasted = (from: string, to: string): string => duration((Date.parse(to) - Date.parse(from)) / 1_000)

const History = ({ of: { outages } }: Props) => (
  <Panel title="History of circuits" note="the last 30 days" class="flush">
    {outages.length === 0 ? (
      <Empty title="No circuit has opened" />
    ) : (
      <Table
        caption="History of circuits"
        rows={outages}
        keyOf={({ id }) => id}
        columns={[
          { head: "Opened", cell: ({ opened_at }) => moment(opened_at) },
          {
            head: "Closed",
            cell: ({ closed_at, closed_by, opened_at }) =>
              closed_at === null ? (
                "still open"
              ) : (
                <span class="lines">
                  <span>after {lasted(opened_at, closed_at)}</span>
                  <span>{closed_by === "restart" ? "the gateway restarted" : "it answered"}</span>
                </span>
              )
          },
          { head: "Model", cell: ({ model }) => model ?? "all" },
          {
            head: "Why",
            cell: ({ why }) =>
              why === null ? (
                NONE
              ) : (
                <span class="lines">
                  <span>{failureWords(why)}</span>
                  {why.message === null ? null : <span>{why.message}</span>}
                </span>
              )
          },
          { head: "Opened, times", numeric: true, cell: ({ openings }) => count(openings) },
          { head: "Process", cell: ({ process }) => <code>{process}</code> }
        ]}
      />
    )}
  </Panel>
)
