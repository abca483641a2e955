/** The entry point of the console, a page that uses the gateway's API like any other client. */
import { render } from "preact"
import { App } from "./App.tsx"

const home = document.getElementById("app")
if (home !== null) render(<App />, home)
