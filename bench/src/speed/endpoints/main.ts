// Compares the speed of the framework with plain Fastify and a constant fetch handler: `node bench/src/speed/endpoints/main.ts`,
// about 6 minutes.
import { rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { freePort } from '@trestle/testing/free-port.ts'
import { z } from 'zod'
import { createBenchFolder, say } from '../../program.ts'
import { type Cores, canPin, divideCores, moveToCores } from '../../servers/cores.ts'
import { runProgram } from '../../servers/run-program.ts'
import { type Server, startServer } from '../../servers/server.ts'
import { distributionOf, pairedRatios } from '../../statistics.ts'
import { createGenerator, type Load, type LoadGenerator, rateOf, type Sample, sample, summarize } from '../load.ts'
import { atLeast, boundRow, sampleRow, spread } from '../report.ts'

const load: Load = { method: 'GET', path: '/', connections: 64 }

const TableFigures = z.object({
  /** Resolved paths per second, with two bound positional arguments, by the number of routes. */
  perSecond: z.object({ few: z.number(), many: z.number() }),
  startMs: z.number(),
  /** The heap growth over a million requests, in MiB. */
  growthMib: z.number(),
})
/** The figures of one run: rates per second, times in milliseconds, memory in MiB. */
export type TableFigures = Readonly<z.infer<typeof TableFigures>>

/** The pairs of servers to compare, with the smallest allowed ratio (endpoints reference: Performance targets). */
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

/**
 * Loads both servers in turn, so that a disturbance of the machine affects both. The first round is a warm-up.
 * @returns a line for each server
 */
async function comparePair(
  { name, ours, reference, goal }: (typeof pairs)[number],
  generate: LoadGenerator,
  { count, seconds, cores }: { readonly count: number; readonly seconds: number; readonly cores: Cores | undefined },
): Promise<readonly string[]> {
  await using started = new AsyncDisposableStack()
  const servers = [await startWay(ours, cores), await startWay(reference, cores)]
  for (const { stop } of servers) started.defer(stop)
  const samples = servers.map((): Sample[] => [])
  for (let round = 0; round <= count; round++) {
    for (const [side, server] of servers.entries()) {
      const result = await sample(server, load, generate, seconds)
      if (round > 0) samples[side]?.push(result)
    }
  }
  const [own = [], other = []] = samples
  const ratio = distributionOf(pairedRatios(own.map(rateOf), other.map(rateOf)))
  return [
    sampleRow(name, summarize(own), spread(ratio), atLeast(ratio.median, goal)),
    sampleRow(`  ${reference}`, summarize(other)),
  ]
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
const folder = createBenchFolder()
try {
  const generate = createGenerator({ folder, cores: cores?.load })
  const rounds = { count: Number(values.rounds), seconds: Number(values.seconds), cores }
  for (const pair of pairs) for (const line of await comparePair(pair, generate, rounds)) say(line)
  for (const line of tableLines(await measureTable(cores))) say(line)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
