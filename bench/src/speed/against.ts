// Compares the speed of this checkout's services with another checkout, usually the previous commit: `node
// bench/src/speed/against.ts ../before`.

import { rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { Command } from 'commander'
import { createBenchFolder, positiveInteger, ROOT, runCommand, say } from '../program.ts'
import { type Cores, canPin, divideCores, moveToCores } from '../servers/cores.ts'
import { type DatabaseServer, execute, openDatabaseServer } from '../servers/database.ts'
import { deploy } from '../servers/deployment.ts'
import type { Server } from '../servers/server.ts'
import { medianInterval, pairedRatios } from '../statistics.ts'
import { createGenerator, type LoadGenerator, rateOf, sample, tryLoad } from './load.ts'
import { preparePasswordEndpoints, type Rounds } from './passwords.ts'
import { type Endpoint, type Scenario, scenarios } from './scenarios.ts'

/** The control is a second deployment of the other checkout. Its ratio shows how much equal code differs on this machine. */
const SIDES = ['before', 'control', 'now'] as const
type Side = (typeof SIDES)[number]

/** The upper end of a ratio's interval must reach this value. */
const GOAL = 0.97

interface Subject {
  readonly server: Server
  readonly endpoints: readonly Endpoint[]
}

interface Bench {
  readonly folder: string
  readonly database: DatabaseServer
  readonly generate: LoadGenerator
  readonly rounds: Rounds
  readonly cores: Cores | undefined
  readonly checkouts: Readonly<Record<Side, string>>
  /** Settings only for this checkout. */
  readonly setting: Readonly<Record<string, string>>
  /** A pattern for the names of the measured endpoints. */
  readonly only: string
}

const command = new Command('node bench/src/speed/against.ts')
  .description('Compares every endpoint of the services with that of another checkout, round by round.')
  .argument('<before>', 'folder of the other checkout, with its dependencies installed')
  .argument('[services...]', 'inventory, auth, payments; all by default')
  .option('--rounds <number>', 'samples of each side', positiveInteger, 9)
  .option('--seconds <number>', 'seconds of one sample', positiveInteger, 4)
  .option('--only <pattern>', 'measure only the endpoints whose names match', '')
  .option('--setting <name=value>', 'a setting of this checkout alone; may be repeated', addSetting, {})
  .action(run)

function addSetting(entry: string, settings: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [name = '', ...value] = entry.split('=')
  return { ...settings, [name]: value.join('=') }
}

async function run(
  before: string,
  names: readonly string[],
  {
    rounds,
    seconds,
    ...choice
  }: {
    readonly rounds: number
    readonly seconds: number
    readonly only: string
    readonly setting: Readonly<Record<string, string>>
  },
): Promise<void> {
  const cores = canPin() ? divideCores(availableParallelism()) : undefined
  if (cores) moveToCores(process.pid, cores.load)
  const folder = createBenchFolder()
  const generate = createGenerator({ folder, cores: cores?.load })
  const checkouts = { before: resolve(before), control: resolve(before), now: ROOT }
  const { BENCH_DATABASE_URL: url } = process.env
  try {
    const database = await openDatabaseServer({ url, folder: join(folder, 'postgres'), cores: cores?.database })
    const bench = { folder, database, generate, rounds: { count: rounds, seconds }, cores, checkouts, ...choice }
    for (const scenario of scenarios.filter(({ service }) => names.length === 0 || names.includes(service))) {
      await measure(scenario, bench)
    }
    await database.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure(scenario: Scenario, bench: Bench): Promise<void> {
  await using started = new AsyncDisposableStack()
  const subjects: [Side, Subject][] = []
  for (const side of SIDES) {
    const subject = await prepare(scenario, side, bench)
    started.defer(subject.server.stop)
    subjects.push([side, subject])
  }
  say(`${scenario.service}: median ratio (95 % interval) to the checkout before`)
  const names = subjects[0]?.[1].endpoints.map(({ name }) => name) ?? []
  for (const [index, name] of names.entries()) {
    const rates = await rotate(subjects, index, bench)
    say(`  ${name.padEnd(36)} ${describe(rates, 'now')}   control ${describe(rates, 'control')}`)
  }
}

async function prepare({ service, env, prepare }: Scenario, side: Side, bench: Bench): Promise<Subject> {
  const { cores, database, folder, checkouts, setting, only } = bench
  const databaseUrl = await database.create(`trestle_bench_${service}_${side}`)
  const options = { checkout: checkouts[side], folder: join(folder, side), databaseUrl }
  const deployment = await deploy(service, { ...options, env: side === 'now' ? { ...env, ...setting } : env })
  // Auth hashes passwords on all cores. All sides may use all cores, because only one is loaded at a time.
  const all = service === 'auth' ? cores?.all : cores?.server
  const server = await deployment.start({ cores: all, coreCount: service === 'auth' ? availableParallelism() : 1 })
  const { runCommand } = deployment
  const context = { url: server.url, runCommand, execute: (statement: string) => execute(databaseUrl, statement) }
  const endpoints = [
    ...(await prepare(context)),
    ...(service === 'auth' ? await preparePasswordEndpoints(server.url) : []),
  ]
  await execute(databaseUrl, 'VACUUM ANALYZE')
  return { server, endpoints: endpoints.filter(({ name }) => new RegExp(only).test(name)) }
}

/** Returns requests per second by side. The sides begin the rounds in turn. The first round is a warm-up. */
async function rotate(subjects: readonly [Side, Subject][], index: number, { generate, rounds }: Bench) {
  const rates: Record<Side, number[]> = { before: [], control: [], now: [] }
  for (let round = 0; round <= rounds.count; round++) {
    for (let turn = 0; turn < subjects.length; turn++) {
      const [side, subject] = subjects[(round + turn) % subjects.length] ?? []
      const endpoint = subject?.endpoints[index]
      if (side === undefined || subject === undefined || endpoint === undefined) continue
      const { server } = subject
      const load = await endpoint.nextLoad(server.url)
      if (round === 0) await tryLoad(server.url, load)
      const result = await sample(server, await endpoint.nextLoad(server.url), generate, rounds.seconds)
      if (result.errors > 0) throw new Error(`${endpoint.name} ${side}: ${result.errors} answers were errors`)
      if (round > 0) rates[side].push(rateOf(result))
    }
  }
  return rates
}

function describe(rates: Readonly<Record<Side, readonly number[]>>, side: Side): string {
  const { median, lower, upper } = medianInterval(pairedRatios(rates[side], rates.before))
  const verdict = upper >= GOAL ? '' : ` below ${GOAL}`
  return `${median.toFixed(3)} (${lower.toFixed(3)} - ${upper.toFixed(3)})${verdict}`
}

await runCommand(command)
