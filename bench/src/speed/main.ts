import { rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Command } from 'commander'
import { createBenchFolder, positiveInteger, ROOT, runCommand, say } from '../program.ts'
import { type Cores, canPin, divideCores, moveToCores } from '../servers/cores.ts'
import { type DatabaseServer, execute, openDatabaseServer } from '../servers/database.ts'
import { type Deployment, deploy, hasService, type StartOptions } from '../servers/deployment.ts'
import type { Server } from '../servers/server.ts'
import { median } from '../statistics.ts'
import { createGenerator, hasWrk, type LoadGenerator, type Sample, sample, summarize, tryLoad } from './load.ts'
import { measurePasswords, type PasswordResults, type Rounds } from './passwords.ts'
import { countErrors, type EndpointResult, reportLines, type ServiceResult } from './report.ts'
import { type Endpoint, type Scenario, scenarios } from './scenarios.ts'

interface Setup {
  readonly checkout: string
  readonly folder: string
  readonly database: DatabaseServer
  readonly generate: LoadGenerator
  readonly rounds: Rounds
  /** `undefined` if no process is pinned. */
  readonly cores: Cores | undefined
  readonly coreCount: number
  /** The folder for the services' CPU profiles. `undefined` if no profiles are made. */
  readonly profileFolder: string | undefined
}

const SETTLE_MS = 1_000

const command = new Command('pnpm bench')
  .description('Loads the services, prints rates, times and processor time, and compares with the goals.')
  .argument('[services...]', `${scenarios.map(({ service }) => service).join(', ')}; all by default`)
  .option('--seconds <number>', 'seconds of one sample', positiveInteger, 4)
  .option('--rounds <number>', 'samples of each endpoint', positiveInteger, 5)
  .option('--checkout <folder>', 'measure the services of another checkout', ROOT)
  .option('--json <file>', 'write all results')
  .option('--profile <folder>', 'write a CPU profile of each service; it costs speed')
  .action(run)

async function run(
  names: readonly string[],
  options: {
    readonly seconds: number
    readonly rounds: number
    readonly checkout: string
    readonly json?: string
    readonly profile?: string
  },
): Promise<void> {
  const { seconds, rounds, checkout, json } = options
  const chosen = choose(names, resolve(checkout))
  const coreCount = availableParallelism()
  const cores = canPin() ? divideCores(coreCount) : undefined
  if (cores) moveToCores(process.pid, cores.load)
  const folder = createBenchFolder()
  const results: ServiceResult[] = []
  const generate = stoppable(createGenerator({ folder, cores: cores?.load }))
  const pinned = cores ? ', the server alone on one' : ', nothing pinned'
  say(`${coreCount} cores${pinned}; load by ${hasWrk() ? 'wrk' : 'autocannon'}`)
  say(`medians of ${rounds} rounds of ${seconds} s`)
  try {
    await using started = new AsyncDisposableStack()
    const url = process.env.BENCH_DATABASE_URL
    const database = await openDatabaseServer({ url, folder: join(folder, 'postgres'), cores: cores?.database })
    started.defer(database.close)
    const profileFolder = options.profile && resolve(options.profile)
    const setup = { checkout: resolve(checkout), folder, database, generate, cores, coreCount, profileFolder }
    for (const scenario of chosen) {
      const result = await measureService(scenario, { ...setup, rounds: { count: rounds, seconds } })
      results.push(result)
      for (const line of reportLines(result)) say(line)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  if (json !== undefined) writeFileSync(json, `${JSON.stringify({ coreCount, seconds, rounds, results }, null, 2)}\n`)
  const errors = results.reduce((sum, result) => sum + countErrors(result), 0)
  if (errors > 0) throw new Error(`${errors} requests failed: the figures mean nothing`)
}

/** A Ctrl-C ends the run before the next load, so that the servers are stopped. */
function stoppable(generate: LoadGenerator): LoadGenerator {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => stop.abort(new Error('stopped before the end')))
  }
  return async (...args) => {
    stop.signal.throwIfAborted()
    return generate(...args)
  }
}

function choose(names: readonly string[], checkout: string): readonly Scenario[] {
  const unknown = names.filter((name) => !scenarios.some(({ service }) => service === name))
  if (unknown.length > 0) throw new Error(`unknown services: ${unknown.join(', ')}`)
  return scenarios.filter(
    ({ service }) => (names.length === 0 || names.includes(service)) && hasService(checkout, service),
  )
}

/** Measures one service and stops every server that it started. */
async function measureService({ service, env, prepare }: Scenario, setup: Setup): Promise<ServiceResult> {
  const { cores, coreCount, profileFolder, rounds } = setup
  const databaseUrl = await setup.database.create(`trestle_bench_${service}`)
  const deployment = await deploy(service, { ...setup, databaseUrl, env })
  const oneCore = { cores: cores?.server, coreCount: cores ? 1 : coreCount }
  const startUp = await measureStartUp(deployment, oneCore, rounds.count)
  await using started = new AsyncDisposableStack()
  const server = await deployment.start({ ...oneCore, profileFolder })
  started.defer(server.stop)
  const prepared = await prepare({
    url: server.url,
    runCommand: deployment.runCommand,
    execute: (statement) => execute(databaseUrl, statement),
  })
  // Without statistics the planner guesses. Autovacuum would gather them later, during a round.
  await execute(databaseUrl, 'VACUUM ANALYZE')
  const endpoints: EndpointResult[] = []
  for (const endpoint of prepared) {
    const { name, ofOther } = endpoint
    const result = summarize(await sampleEndpoint(server, endpoint, setup))
    endpoints.push({ name, ...(ofOther && { ofOther }), result })
  }
  const loadedMib = server.residentMib()
  const passwords = service === 'auth' ? await onAllCores(deployment, setup) : undefined
  return { service, endpoints, passwords, startUp, loadedMib }
}

/**
 * The first round only warms up the server. At 2,000 requests per second, Node.js needs seconds to compile an endpoint, and until
 * then requests take 50 % longer.
 */
async function sampleEndpoint(server: Server, endpoint: Endpoint, { generate, rounds }: Setup) {
  await tryLoad(server.url, await endpoint.nextLoad(server.url))
  const samples: Sample[] = []
  for (let round = 0; round <= rounds.count; round++) {
    const result = await sample(server, await endpoint.nextLoad(server.url), generate, rounds.seconds)
    if (round > 0) samples.push(result)
  }
  return samples
}

/** Starts another process, because a process reads the number of cores at its start. */
async function onAllCores(deployment: Deployment, { cores, ...setup }: Setup): Promise<PasswordResults> {
  const allCores = { cores: cores?.all, coreCount: setup.coreCount }
  await using started = new AsyncDisposableStack()
  const server = await deployment.start(allCores)
  started.defer(server.stop)
  // Use `await` here, because the server stops at the end of this block.
  return await measurePasswords({ ...setup, ...allCores, server })
}

async function measureStartUp(deployment: Deployment, options: StartOptions, times: number) {
  const starts: { readonly startMs: readonly number[]; readonly idleMib: number | undefined }[] = []
  for (let count = 0; count < times; count++) {
    const server = await deployment.start(options)
    await delay(SETTLE_MS)
    starts.push({ startMs: server.startMs, idleMib: server.residentMib() })
    await server.stop()
  }
  const idle = starts.flatMap(({ idleMib }) => idleMib ?? [])
  return {
    healthMs: median(starts.map(({ startMs }) => startMs[0] ?? Number.NaN)),
    readyMs: median(starts.map(({ startMs }) => startMs[1] ?? Number.NaN)),
    idleMib: idle.length === 0 ? undefined : median(idle),
  }
}

await runCommand(command)
