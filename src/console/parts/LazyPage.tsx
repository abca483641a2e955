/** A page whose content is loaded when first opened. A failed load is tried again by a click. */
import { type ComponentType } from "preact"
import { useLoad } from "../useLoad.ts"
import { Page } from "./Page.tsx"
import { Loaded } from "./States.tsx"

interface LazyProps {
  readonly title: string
  readonly lead: string
  readonly load: () => Promise<ComponentType>
}

export const LazyPage = ({ lead, load, title }: LazyProps) => (
  <Page title={title} lead={lead}>
    <Loaded of={useLoad(`code of ${title}`, async () => ({ Content: await load() }))} what={title}>
      {({ Content }) => <Content />}
    </Loaded>
  </Page>
)
