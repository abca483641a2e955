/** Runs the clients of this folder, one after the other. The argument is the repository's directory. */
import { finish } from "./world.mjs"
import "./mastra.mjs"
import "./claude.mjs"

await finish()
