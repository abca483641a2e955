/** The console: a page of its own that talks to the gateway's API as any client does. */
import { render } from "preact"
import { App } from "./App.tsx"

const home = document.getElementById("app")
if (home !== null) render(<App />, home)
