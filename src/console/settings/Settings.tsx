/**
 * The settings in force, with secrets hidden and the names of the settings file. They cannot be
 * changed here.
 */
import { type ComponentChildren } from "preact"
import { type SettingsReport } from "../../api/AdminSettings.ts"
import { call } from "../client.ts"
import { Page, Panel } from "../parts/Page.tsx"
import { Loaded } from "../parts/States.tsx"
import { useLoad } from "../useLoad.ts"

type Members = Readonly<Record<string, unknown>>

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const isPlain = (value: unknown): boolean => !isMembers(value) && !(Array.isArray(value) && value.some(isMembers))

const label = (name: string): string => name.replaceAll("_", " ")

export const Settings = () => {
  const report = useLoad("settings", (signal) => call<typeof SettingsReport.Type>("/v1/admin/settings", { signal }))
  return (
    <Page
      title="Settings"
      lead="What this process runs with. Change it in the environment and the settings file; SIGHUP reads the file again."
    >
      <Loaded of={report} what="Reading the settings" rows={12}>
        {({ settings }) => {
          const entries = Object.entries(settings)
          const single = Object.fromEntries(entries.filter(([, value]) => isPlain(value)))
          const sections = entries.filter(([, value]) => !isPlain(value))
          return (
            <div class="settings">
              <Panel title="Process">
                <Pairs of={single} />
              </Panel>
              {sections.map(([name, value]) => (
                <Panel key={name} title={label(name)} class="titled">
                  <Value of={value} />
                </Panel>
              ))}
            </div>
          )
        }}
      </Loaded>
    </Page>
  )
}

const Pairs = ({ of }: { readonly of: Members }) => (
  <dl class="pairs">
    {Object.entries(of).flatMap(([name, value]) => [
      <dt key={name}>{label(name)}</dt>,
      <dd key={`${name}=`}>
        <Value of={value} />
      </dd>
    ])}
  </dl>
)

const nameOf = (of: Members, index: number): string => {
  const name = of["slug"] ?? of["id"] ?? of["name"]
  return typeof name === "string" ? name : String(index + 1)
}

const Value = ({ of }: { readonly of: unknown }): ComponentChildren => {
  if (of === null) return <span class="quiet">not set</span>
  if (of === "(hidden)") return <span class="quiet">set, hidden</span>
  if (typeof of === "boolean") return of ? "yes" : "no"
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
  return typeof of === "number" || typeof of === "string" ? <code>{of}</code> : null
}
