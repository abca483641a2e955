/**
 * The package entry `tollgate/testing`: doubles for tests of programs that replace a layer, and the
 * whole gateway on memory layers. An entry passes on what is defined elsewhere; only entries do.
 */
export { layerScripted, type Script, type ScriptedProvider, scriptedOffer } from "../../src/testing/ScriptedProvider.ts"
export { type Answered, type SentRequest, TestApp, type TestAppOptions } from "../support/TestApp.ts"
export { testSettings } from "../support/testSettings.ts"
