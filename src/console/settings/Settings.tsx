/**
 * The settings in force, under the names and in the units of the settings file, secrets hidden.
 * They are changed in the file; a button has the gateway read it again.
 */
import { type ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { type SettingsReloadReport, type SettingsReport } from "../../api/AdminSettings.ts"
import { asFailure, call, type Failure } from "../client.ts"
import { Badge } from "../parts/Badge.tsx"
import { Page, Panel } from "../parts/Page.tsx"
import { Broken, Loaded } from "../parts/States.tsx"
import { useLoad } from "../useLoad.ts"

type Members = Readonly<Record<string, unknown>>
type Sources = (typeof SettingsReport.Type)["sources"]

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const Settings = () => {
  const report = useLoad("settings", (signal) => call<typeof SettingsReport.Type>("/v1/admin/settings", { signal }))
  const [reloaded, setReloaded] = useState<SettingsReloadReport | Failure>()
  const [isBusy, setBusy] = useState(false)
  const reload = () => {
    setBusy(true)
    call<SettingsReloadReport>("/v1/admin/settings/reload", { method: "POST" })
      .then(setReloaded, (thrown: unknown) => setReloaded(asFailure(thrown)))
      .finally(() => {
        setBusy(false)
        report.reload()
      })
  }
  return (
    <Page
      title="Settings"
      lead={
        <>
          What this process runs with, under the names of the settings file.{" "}
          <a href="/docs/reference/settings.md">All settings</a>
        </>
      }
      actions={
        <button type="button" class="button" disabled={isBusy} onClick={reload}>
          Reload the file
        </button>
      }
    >
      <div role="status">{reloaded === undefined ? null : <ReloadReport of={reloaded} />}</div>
      <Loaded of={report} what="Reading the settings" rows={12}>
        {({ environment, file, settings, sources }) => (
          <>
            <p class="quiet">
              {file === null ? (
                "There is no settings file."
              ) : (
                <>
                  File <code>{file}</code>.
                </>
              )}{" "}
              Values without a mark are defaults.
            </p>
            <div class="settings">
              {Object.entries(settings).map(([name, value]) => (
                <Panel key={name} title={name}>
                  {isMembers(value) ? <Pairs of={value} path={name} sources={sources} /> : <Value of={value} />}
                  {name in sources ? <Badge text={sources[name] ?? ""} tone="calm" /> : null}
                </Panel>
              ))}
              <Panel title="Environment">
                <Pairs of={environment} path="" sources={sources} />
              </Panel>
            </div>
          </>
        )}
      </Loaded>
    </Page>
  )
}

const ReloadReport = ({ of }: { readonly of: SettingsReloadReport | Failure }) => {
  if (!("object" in of)) return <Broken failure={of} />
  if (!of.reloaded) {
    return (
      <Panel title={`Not reloaded: ${of.faults.length} ${of.faults.length === 1 ? "fault" : "faults"}`}>
        <p>The settings in force stay.</p>
        <ul>
          {of.faults.map(({ expected, problem, setting }) => (
            <li key={`${setting} ${problem}`}>
              <code>{setting}</code> {problem}; expected {expected}
            </li>
          ))}
        </ul>
      </Panel>
    )
  }
  return (
    <Panel title="Reloaded">
      <Names title="Changed" of={of.changed} none="Nothing changed." />
      <Names title="Needs a restart" of={of.needs_restart} />
    </Panel>
  )
}

interface NamesProps {
  readonly title: string
  readonly of: ReadonlyArray<string>
  readonly none?: string
}

const Names = ({ none, of, title }: NamesProps) => {
  if (of.length === 0) return none === undefined ? null : <p>{none}</p>
  return (
    <p>
      {title}:{" "}
      {of.map((name, index) => (
        <span key={name}>
          {index === 0 ? "" : ", "}
          <code>{name}</code>
        </span>
      ))}
    </p>
  )
}

interface PairsProps {
  readonly of: Members
  /** Where the members are in the file. */
  readonly path?: string
  readonly sources?: Sources
}

const Pairs = ({ of, path = "", sources = {} }: PairsProps) => (
  <dl class="pairs">
    {Object.entries(of).flatMap(([name, value]) => {
      const at = path === "" ? name : `${path}.${name}`
      const source = sources[at]
      return [
        <dt key={name}>
          <code>{name}</code>
        </dt>,
        <dd key={`${name}=`}>
          {isMembers(value) && Object.keys(value).length > 0 ? (
            <Pairs of={value} path={at} sources={sources} />
          ) : (
            <Value of={value} />
          )}{" "}
          {source === undefined ? null : <Badge text={source} tone="calm" />}
        </dd>
      ]
    })}
  </dl>
)

const nameOf = (of: Members, index: number): string => {
  const name = of["slug"] ?? of["id"] ?? of["name"] ?? of["url"]
  return typeof name === "string" ? name : String(index + 1)
}

const Value = ({ of }: { readonly of: unknown }): ComponentChildren => {
  if (of === null) return <span class="quiet">not set</span>
  if (of === "(hidden)") return <span class="quiet">set, hidden</span>
  if (Array.isArray(of)) {
    if (of.length === 0) return <span class="quiet">none</span>
    if (!of.some(isMembers)) return of.map(String).join(", ")
    return of.map((entry: unknown, index) =>
      isMembers(entry) ? (
        <details key={nameOf(entry, index)}>
          <summary>{nameOf(entry, index)}</summary>
          <Pairs of={entry} />
        </details>
      ) : null
    )
  }
  if (isMembers(of)) return Object.keys(of).length === 0 ? <span class="quiet">none</span> : <Pairs of={of} />
  return <code>{typeof of === "string" ? of : JSON.stringify(of)}</code>
}
