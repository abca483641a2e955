/** The frame of a page: title, which is the tab's title too, actions, tabs and content. */
import { type ComponentChildren } from "preact"
import { useEffect } from "preact/hooks"
import { Link } from "../router.tsx"

interface PageProps {
  readonly title: string
  /** The title of the browser's tab, where it names more than the page's heading. */
  readonly tab?: string
  readonly lead?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

export const Page = ({ actions, children, lead, tab, title }: PageProps) => {
  useEffect(() => {
    document.title = `${tab ?? title} · tollgate`
  }, [tab ?? title])
  return (
    <>
      <header class="page-head">
        <div>
          <h1 tabIndex={-1}>{title}</h1>
          {lead === undefined ? null : <p class="quiet">{lead}</p>}
        </div>
        {actions === undefined ? null : <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}

interface PanelProps {
  readonly title: string
  readonly note?: ComponentChildren
  readonly children: ComponentChildren
  readonly class?: string
}

export const Panel = ({ children, class: className = "", note, title }: PanelProps) => (
  <section class={`panel ${className}`}>
    <div class="panel-head">
      <h2>{title}</h2>
      {note === undefined ? null : <span class="quiet">{note}</span>}
    </div>
    {children}
  </section>
)

interface TabsProps {
  readonly label: string
  readonly current: string
  /** The name of each tab, its words, and its path. */
  readonly tabs: ReadonlyArray<readonly [name: string, words: string, to: string]>
}

/** Parts of a page as tabs. They are links, so that each part has an address. */
export const Tabs = ({ current, label, tabs }: TabsProps) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(([name, words, to]) => (
      <Link key={name} to={to} current={name === current}>
        {words}
      </Link>
    ))}
  </nav>
)
