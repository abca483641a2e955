/**
 * The console: the sign-in page, or the frame with navigation and the page of the current address.
 */
import { type ComponentChildren, Fragment } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import { notice } from "./notices.ts"
import { type PageEntry, pagesFor } from "./routes.tsx"
import { dropPlayKey } from "./playground/playKeys.ts"
import { SignIn } from "./signin/SignIn.tsx"
import { Brand } from "./parts/Brand.tsx"
import { Icon } from "./parts/Icon.tsx"
import { Page } from "./parts/Page.tsx"
import { Choice } from "./parts/Field.tsx"
import { Empty } from "./parts/States.tsx"
import { Link, usePath } from "./router.tsx"
import { leave, session, type Session } from "./session.ts"
import { enterByLink, resumeSession, signOut } from "./signIn.ts"
import { useStore } from "./store.ts"
import { choose, type Theme, theme } from "./theme.ts"

export const App = () => {
  const current = useStore(session)
  const [ready, setReady] = useState(session.get().kind !== "none")
  useEffect(() => {
    void resumeSession().then(() => setReady(true))
    // A link that is pasted where the console is open loads no page.
    const follow = () => void enterByLink()
    addEventListener("hashchange", follow)
    return () => removeEventListener("hashchange", follow)
  }, [])
  return (
    <>
      {!ready ? null : current.kind === "none" ? <SignIn notice={current.notice} /> : <Inside current={current} />}
      <News />
    </>
  )
}

const News = () => {
  const current = useStore(notice)
  return (
    <div class="news" role="status">
      {current === null ? null : <p key={current.id}>{current.text}</p>}
    </div>
  )
}

const Inside = ({ current }: { readonly current: Session }) => {
  const path = usePath()
  const pages = pagesFor(current)
  const page = pages.find(({ to }) => to === path) ?? pages.find(({ to }) => to !== "/" && path.startsWith(`${to}/`))
  const main = useRef<HTMLElement>(null)
  const before = useRef(path)
  // Focuses the heading of a new page, so that screen readers announce it.
  useEffect(() => {
    if (before.current === path) return
    before.current = path
    main.current?.querySelector("h1")?.focus({ preventScroll: true })
  }, [path])
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <Side pages={pages} page={page} current={current} />
      <main id="content" ref={main}>
        {page === undefined ? <Lost /> : <Fragment key={page.to}>{page.show(path.slice(page.to.length + 1))}</Fragment>}
      </main>
    </div>
  )
}

const Lost = () => (
  <Page title="No such page">
    <Empty title="There is nothing at this address">
      <Link to="/">Go to the first page</Link>
    </Empty>
  </Page>
)

interface SideProps {
  readonly pages: ReadonlyArray<PageEntry>
  readonly page: PageEntry | undefined
  readonly current: Session
}

const Side = ({ current, page, pages }: SideProps) => {
  const [open, setOpen] = useState(false)
  const groups = [...new Set(pages.map(({ group }) => group))]
  return (
    <header class="side">
      <div class="side-top">
        <Link to="/" class="home">
          <Brand />
        </Link>
        <button
          type="button"
          class="button bare menu-toggle"
          aria-expanded={open}
          aria-controls="menu"
          aria-label="Menu"
          onClick={() => setOpen(!open)}
        >
          <Icon name={open ? "close" : "menu"} />
        </button>
      </div>
      <div id="menu" class={open ? "side-menu open" : "side-menu"}>
        <nav aria-label="Pages">
          {groups.map((group) => (
            <Fragment key={group}>
              <h2>{group}</h2>
              {pages
                .filter((entry) => entry.group === group)
                .map(({ icon, title, to }) => (
                  <Link key={to} to={to} current={page?.to === to} onGo={() => setOpen(false)}>
                    <Icon name={icon} />
                    {title}
                  </Link>
                ))}
            </Fragment>
          ))}
        </nav>
        <Whoami current={current} />
      </div>
    </header>
  )
}

const Whoami = ({ current }: { readonly current: Session }) => {
  const chosen = useStore(theme)
  const who: ComponentChildren =
    current.kind === "user" ? (current.user.email ?? current.user.phone ?? current.user.id) : "Operator, by admin key"
  return (
    <div class="whoami">
      <span class="quiet">{who}</span>
      <a href="/docs">API reference</a>
      <Choice
        legend="Colours"
        value={chosen}
        onValue={(value) => choose(value as Theme)}
        options={[
          ["system", "Auto"],
          ["light", "Light"],
          ["dark", "Dark"]
        ]}
      />
      <button
        type="button"
        class="button"
        onClick={() => {
          dropPlayKey()
          if (current.kind === "user") void signOut().catch(() => leave())
          else leave()
        }}
      >
        {current.kind === "admin" ? "Forget the key" : "Sign out"}
      </button>
    </div>
  )
}
