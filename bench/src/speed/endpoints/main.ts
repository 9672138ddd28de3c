// Measures the framework beside plain Fastify and a constant fetch handler: `node bench/src/speed/endpoints/main.ts`, about 6
// minutes.
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { freePort } from '@trestle/testing/free-port.ts'
import { z } from 'zod'
import { type Cores, canPin, divideCores, moveToCores } from '../../servers/cores.ts'
import { runProgram } from '../../servers/run-program.ts'
import { type Server, startServer } from '../../servers/server.ts'
import { type Comparison, compare } from '../compare.ts'
import { createAutocannon } from '../load/autocannon.ts'
import type { Load, LoadGenerator } from '../load/load.ts'
import { createWrk, hasWrk } from '../load/wrk.ts'
import { boundRow, comparisonLines } from '../report.ts'

const load: Load = { method: 'GET', path: '/', connections: 64 }

/** The output of table.ts. */
const TableFigures = z.object({
  /** Paths that are resolved and bound with two positionals per second, by the number of routes. */
  perSecond: z.object({ few: z.number(), many: z.number() }),
  startMs: z.number(),
  /** Growth of the heap over a million requests, in MiB. */
  growthMib: z.number(),
})
/** The figures of one run: rates in operations per second, times in milliseconds, memory in MiB. */
export type TableFigures = Readonly<z.infer<typeof TableFigures>>

/** The pairs of servers that are compared, and the least ratio of each pair (endpoints reference: Performance targets). */
const pairs = [
  { name: 'listener / Fastify route', ours: 'listener', reference: 'fastify', goal: 0.93 },
  { name: 'plugin / Fastify route', ours: 'plugin', reference: 'fastify', goal: 0.8 },
  { name: 'fetch / constant fetch', ours: 'fetch', reference: 'constant fetch', goal: 0.8 },
] as const

async function startWay(way: string, cores: Cores | undefined): Promise<Server> {
  const port = String(await freePort())
  return startServer({
    name: way,
    args: [join(import.meta.dirname, 'server.ts'), way],
    env: { NODE_ENV: 'production', PORT: port },
    cwd: import.meta.dirname,
    cores: cores?.server,
    url: `http://127.0.0.1:${port}`,
    signs: ['/'],
  })
}

async function comparePair(
  { name, ours, reference, goal }: (typeof pairs)[number],
  generate: LoadGenerator,
  { count, seconds, cores }: { readonly count: number; readonly seconds: number; readonly cores: Cores | undefined },
): Promise<Comparison> {
  await using started = new AsyncDisposableStack()
  const both = { ours: await startWay(ours, cores), reference: await startWay(reference, cores) }
  for (const { stop } of Object.values(both)) started.defer(stop)
  return await compare(both, { name, goal, nextLoad: async () => load }, generate, { count, seconds })
}

async function measureTable(cores: Cores | undefined): Promise<TableFigures> {
  const args = ['--expose-gc', join(import.meta.dirname, 'table.ts')]
  return TableFigures.parse(JSON.parse(await runProgram({ program: process.execPath, args, cores: cores?.server })))
}

function tableLines({ perSecond: { few, many }, startMs, growthMib }: TableFigures): readonly string[] {
  const million = 1_000_000
  return [
    ...boundRow('resolve and bind, 10,000 routes', many / million, 'M/s', { atLeast: 2 }),
    ...boundRow('slower than with 10 routes', few / many, 'times', { atMost: 1.5 }),
    ...boundRow('start with 1,000 modules', startMs / 1_000, 's', { atMost: 5 }),
    ...boundRow('growth over 1 M requests', growthMib, 'MiB', { atMost: 5 }),
  ]
}

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '5' } },
})
const cores = canPin() ? divideCores(availableParallelism()) : undefined
if (cores) moveToCores(process.pid, cores.load)
const folder = mkdtempSync(join(tmpdir(), 'trestle-bench-'))
try {
  const generate = (hasWrk() ? createWrk : createAutocannon)({ folder, cores: cores?.load })
  const comparisons: Comparison[] = []
  const rounds = { count: Number(values.rounds), seconds: Number(values.seconds), cores }
  for (const pair of pairs) comparisons.push(await comparePair(pair, generate, rounds))
  const lines = [...comparisonLines('endpoints', comparisons), ...tableLines(await measureTable(cores))]
  process.stdout.write(`${lines.join('\n')}\n`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
