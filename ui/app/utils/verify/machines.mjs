// Writes machines.json: the transitions of the machines whose moves a bundle has, from their generated pages in docs/states.
// Run it when a machine changed: node app/utils/verify/machines.mjs
import { readFileSync, writeFileSync } from 'node:fs'

const states = new URL('../../../../docs/states/', import.meta.url)

export function transitionsOf(machine) {
  const page = readFileSync(new URL(`${machine}.md`, states), 'utf8')
  const table = page.split('## Transitions')[1].split('\n## ')[0]
  const ticked = (cell) => [...cell.matchAll(/`([^`]+)`/g)].map((found) => found[1])
  return table.split('\n').filter((line) => line.startsWith('| `')).flatMap((line) => {
    const [id, from, to, actors, trigger, , event] = line.split('|').slice(1).map((cell) => cell.trim())
    const kind = trigger.split(' ')[0]
    return ticked(from).flatMap((source) => ticked(to).flatMap((target) => ticked(actors).map((actor) => ({
      id: ticked(id)[0], from: source === '∅' ? null : source, to: target, actor, kind, ref: ticked(trigger)[0], event: ticked(event)[0] ?? null,
    }))))
  })
}

export function machines() {
  return { cut_request: transitionsOf('cut_request'), orchestrator_run: transitionsOf('orchestrator_run') }
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const lines = Object.entries(machines()).map(([name, all]) => `  "${name}": [\n${all.map((one) => `    ${JSON.stringify(one)}`).join(',\n')}\n  ]`)
  writeFileSync(new URL('machines.json', import.meta.url), `{\n${lines.join(',\n')}\n}\n`)
}
