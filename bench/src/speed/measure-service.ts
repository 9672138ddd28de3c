import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '@trestle/testing/free-port.ts'
import type { Cores } from '../servers/cores.ts'
import { type DatabaseServer, execute } from '../servers/database.ts'
import { type Deployment, deploy, type StartOptions, threadsFor } from '../servers/deployment.ts'
import { type Server, startServer } from '../servers/server.ts'
import { median } from '../statistics.ts'
import { type Comparison, compare, type Rounds } from './compare.ts'
import type { LoadGenerator } from './load/load.ts'
import { type HealthResult, measurePasswords, type NeighbourResult, type PasswordResult } from './passwords.ts'
import type { Scenario } from './scenario.ts'

/** All results of one service. */
export interface ServiceResult {
  readonly service: string
  readonly comparisons: readonly Comparison[]
  /** Present for the service that hashes passwords. */
  readonly passwords:
    | { readonly work: readonly PasswordResult[]; readonly neighbour: NeighbourResult; readonly health: HealthResult }
    | undefined
  readonly startUp: StartUpResult
  /** Memory after the loads, in MiB; undefined where the system does not say. */
  readonly loadedMib: number | undefined
}

/** The set-up of the measurement. */
export interface BenchOptions {
  readonly checkout: string
  readonly folder: string
  readonly database: DatabaseServer
  readonly generate: LoadGenerator
  readonly rounds: Rounds
  /** Undefined: no process is pinned. */
  readonly cores: Cores | undefined
  readonly coreCount: number
  /** The folder in which the services leave CPU profiles; undefined: no profile is made. */
  readonly profileFolder: string | undefined
}

/** Measures one service, and ends everything that it started. */
export async function measureService(scenario: Scenario, options: BenchOptions): Promise<ServiceResult> {
  const { service, env } = scenario
  const databaseUrl = await options.database.create(`trestle_bench_${service}`)
  const deployment = await deploy(service, { ...options, databaseUrl, env })
  const oneCore = { cores: options.cores?.server, coreCount: options.cores ? 1 : options.coreCount }
  const startUp = await measureStartUp(deployment, oneCore, options.rounds.count)
  await using started = new AsyncDisposableStack()
  const ours = await deployment.start({ ...oneCore, profileFolder: options.profileFolder })
  started.defer(ours.stop)
  const endpoints = await scenario.prepare({
    url: ours.url,
    runCommand: deployment.runCommand,
    execute: (statement) => execute(databaseUrl, statement),
  })
  // Without statistics the planner guesses. Autovacuum would gather them a minute later, in the middle of a round.
  await execute(databaseUrl, 'VACUUM ANALYZE')
  const reference = await startReference(scenario, deployment, { ...oneCore, databaseUrl })
  started.defer(reference.stop)
  const comparisons: Comparison[] = []
  for (const endpoint of endpoints) {
    comparisons.push(await compare({ ours, reference }, endpoint, options.generate, options.rounds))
  }
  const loadedMib = ours.residentMib()
  const passwords = service === 'auth' ? await onAllCores(scenario, deployment, { ...options, databaseUrl }) : undefined
  return { service, comparisons, passwords, startUp, loadedMib }
}

async function startReference(
  { service, referenceEnv }: Scenario,
  { secrets }: Deployment,
  {
    cores,
    coreCount,
    databaseUrl,
  }: { readonly cores: string | undefined; readonly coreCount: number; readonly databaseUrl: string },
): Promise<Server> {
  const port = String(await freePort())
  return startServer({
    name: `reference of ${service}`,
    args: [join(import.meta.dirname, '..', 'references', `${service}.ts`)],
    env: {
      NODE_ENV: 'production',
      UV_THREADPOOL_SIZE: threadsFor(coreCount),
      PORT: port,
      DATABASE_URL: databaseUrl,
      ...referenceEnv(secrets),
    },
    cwd: import.meta.dirname,
    cores,
    url: `http://127.0.0.1:${port}`,
    signs: ['/ready'],
  })
}

/** Starts further processes, because a process sets its number of concurrent hashes by the cores that it has at its start. */
async function onAllCores(
  scenario: Scenario,
  deployment: Deployment,
  { databaseUrl, ...options }: BenchOptions & { readonly databaseUrl: string },
) {
  const allCores = { cores: options.cores?.all, coreCount: options.coreCount }
  await using started = new AsyncDisposableStack()
  const ours = await deployment.start(allCores)
  started.defer(ours.stop)
  const reference = await startReference(scenario, deployment, { ...allCores, databaseUrl })
  started.defer(reference.stop)
  // The await keeps the servers running: they stop at the end of this block.
  return await measurePasswords({ ...options, ...allCores, servers: { ours, reference } })
}

/** Medians of how a service starts. */
export interface StartUpResult {
  /** From the start of the process to the first 200 of /health. */
  readonly healthMs: number
  /** From the start of the process to the first 200 of /ready. */
  readonly readyMs: number
  /** A second after the service was ready; undefined where the system does not say. */
  readonly idleMib: number | undefined
}

const SETTLE_MS = 1_000

/** Starts and stops the service several times. */
async function measureStartUp(deployment: Deployment, options: StartOptions, times: number): Promise<StartUpResult> {
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
