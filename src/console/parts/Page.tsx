/** The frame of a page: title, which is the tab's title too, actions and content. */
import { type ComponentChildren } from "preact"
import { useEffect } from "preact/hooks"

interface PageProps {
  readonly title: string
  readonly lead?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

export const Page = ({ actions, children, lead, title }: PageProps) => {
  useEffect(() => {
    document.title = `${title} · tollgate`
  }, [title])
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
