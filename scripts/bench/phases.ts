/** Every phase of the benchmark, in the order in which they are measured. */
import { measureAgents } from "./agents.ts"
import { type Phase } from "./bench.ts"
import { measureCrowd } from "./crowd.ts"
import { measureDurability } from "./durability.ts"
import { type PhaseName } from "./options.ts"
import { measureHits, measureMisses } from "./ordinary.ts"
import { measureColdStart } from "./coldStart.ts"
import { measurePromises } from "./promises.ts"
import { measurePrompts } from "./prompts.ts"
import { measureTelemetry } from "./telemetry.ts"
import { measureSoak } from "./soak.ts"
import { measurePortkey } from "./portkey.ts"
import { measureStreams } from "./streams.ts"
import { measureWorkers } from "./workers.ts"

const toBare = ["tollgate", "bare proxy"] as const

export const phases: Readonly<Record<PhaseName, Phase>> = {
  misses: { title: "Misses: every request unique", related: toBare, measure: measureMisses },
  hits: {
    title: "Cache hits: one request again and again; beside them misses",
    related: ["tollgate", "misses"],
    measure: measureHits
  },
  portkey: {
    title: "Portkey's gateway, with nothing to check, and tollgate: every request unique, except for hits",
    related: ["capped", "Portkey"],
    measure: measurePortkey
  },
  prompts: {
    title: "Prompts of four lengths, one connection; growth: the exponent of the length",
    related: ["tollgate, 1000 kB", "tollgate, 1 kB"],
    measure: measurePrompts
  },
  agents: {
    title: "A coding agent: 20 tools, every prompt seen for the first time",
    related: ["chat, 100 kB", "bare proxy, 100 kB"],
    measure: measureAgents
  },
  streams: {
    title: "Streams: 50 tokens each, the first after 50 ms, one every 20 ms",
    related: toBare,
    measure: measureStreams
  },
  crowd: { title: "A crowd: long streams at once on one process", related: toBare, measure: measureCrowd },
  promises: { title: "What each promise costs: misses, every row with one promise", measure: measurePromises },
  telemetry: { title: "What telemetry costs: misses", related: ["10 % traced", "off"], measure: measureTelemetry },
  durability: { title: "What durability costs: misses, with governance off and on", measure: measureDurability },
  workers: { title: "One process and two: misses", related: ["2 workers", "1 worker"], measure: measureWorkers },
  start: { title: "Cold start: from the process to its first ready answer", measure: measureColdStart },
  soak: { title: "Soak: misses at half of the top rate", measure: measureSoak }
}
