// The ten things that people come here for. Each makes what it needs with the command line, so that they can be done in any order, and
// again. Words are looked up in the catalogues of the UI: a task holds in both languages.
import { findTheWorst, followTheChain } from './look.mjs'
import { approveAReplay, changeAWorkflow, passAGate } from './decide.mjs'
import { doATask, drillDown, findWithoutDiacritics, verifyABundle, watchAPermit } from './work.mjs'

export const TASKS = {
  'worst-problem': findTheWorst,
  'replay': approveAReplay,
  'gate': passAGate,
  'change': changeAWorkflow,
  'blocked-chain': followTheChain,
  'drill-down': drillDown,
  'task': doATask,
  'permit': watchAPermit,
  'bundle': verifyABundle,
  'search': findWithoutDiacritics,
}
