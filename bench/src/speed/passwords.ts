import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { threadsFor } from '../servers/deployment.ts'
import { runProgram } from '../servers/run-program.ts'
import { type Distribution, distributionOf, median, pairedRatios } from '../statistics.ts'
import { PASSWORD, signUp } from './auth.ts'
import { type Comparison, type Pair, type Rounds, rateOf, type SideResult, sample, summarize } from './compare.ts'
import type { Load, LoadGenerator } from './load/load.ts'
import { tryLoad } from './load/load.ts'
import type { Endpoint } from './scenario.ts'

/** The rate of password requests, compared with the reference and with the hash rate of the machine. */
export interface PasswordResult extends Comparison {
  /** Hashes a second of the bare library, on all cores. */
  readonly hashesPerSecond: number
  /** The share of the bare hash rate, which leaves nothing for requests, the database and the load generator. */
  readonly ofHashes: { readonly goal: number; readonly ours: Distribution; readonly reference: Distribution }
}

/** How password work slows other requests down. */
export interface NeighbourResult {
  readonly name: string
  /** The largest p99 during the load, as a multiple of the p99 without it. */
  readonly goal: number
  readonly alone: SideResult
  readonly meanwhile: SideResult
  /** The ratio to the p99 of the same round. */
  readonly ratio: Distribution
}

/** How long a health check may wait during the load. A load balancer takes a slow service for a dead one. */
export interface HealthResult {
  readonly name: string
  /** Largest p99, in milliseconds. */
  readonly goalMs: number
  readonly meanwhile: SideResult
}

/** The set-up of the measurement. */
export interface PasswordOptions {
  /** Both use all cores, because password work needs them. */
  readonly servers: Pair
  readonly generate: LoadGenerator
  readonly rounds: Rounds
  readonly coreCount: number
  /** Cores for the bare hashes. */
  readonly cores: string | undefined
}

const CONNECTIONS = 16
const ACCOUNTS = 8
const HASH_RATE = join(import.meta.dirname, 'hash-rate.ts')

/**
 * How long a sample of one load lasts. After only some hundred sign-ins, a server still runs code that Node.js has not
 * compiled.
 */
const WARM_UP_SAMPLES = 8
/**
 * How often a round samples both. The bare hashes are measured before and after each sample, because the hash rate of a
 * machine drifts.
 */
const PAIRS = 3

/**
 * Measures sign-ins and sign-ups beside the reference and the bare hash rate just before and after them; and `GET /user` alone
 * and during sign-ins, with health checks during the sign-ins.
 */
export async function measurePasswords(options: PasswordOptions): Promise<ReturnType<typeof toResults>> {
  const { servers, generate, rounds } = options
  const { ours } = servers
  const loads = await createLoads(ours.url)
  const { signIns, signUps, users, checks } = loads
  await warmUp(options, loads)
  const samples = emptySamples()
  for (let round = 0; round < rounds.count; round++) {
    await samplePairs(options, signIns, samples.signIns)
    await samplePairs(options, signUps, samples.signUps)
    samples.alone.push(await sample(ours, users, generate, rounds.seconds))
    samples.meanwhile.push(await sampleDuringSignIns(options, signIns, users))
    samples.checked.push(await sampleDuringSignIns(options, signIns, checks))
  }
  return toResults(samples)
}

async function warmUp({ servers, generate, rounds }: PasswordOptions, loads: Loads): Promise<void> {
  const { signIns, signUps, users, checks } = loads
  for (const load of [signIns, signUps]) {
    for (const { url } of [servers.ours, servers.reference]) {
      await tryLoad(url, load)
      await generate(url, load, rounds.seconds * WARM_UP_SAMPLES)
    }
  }
  for (const load of [users, checks]) {
    await tryLoad(servers.ours.url, load)
    await generate(servers.ours.url, load, rounds.seconds)
  }
}

async function samplePairs(options: PasswordOptions, load: Load, samples: PasswordSamples): Promise<void> {
  const { servers, generate, rounds } = options
  let before = await hashRate(options)
  for (let pair = 0; pair < PAIRS; pair++) {
    for (const side of ['ours', 'reference'] as const) {
      samples[side].results.push(await sample(servers[side], load, generate, rounds.seconds))
      const after = await hashRate(options)
      samples[side].hashes.push((before + after) / 2)
      before = after
    }
  }
}

/** Sign-ins and sign-ups, as rows of a table of endpoints. */
export async function preparePasswordEndpoints(url: string): Promise<readonly Endpoint[]> {
  const { signIns, signUps } = await createLoads(url)
  return [
    { name: 'POST /token password', goal: 0.95, nextLoad: async () => signIns },
    { name: 'POST /signup', goal: 0.95, nextLoad: async () => signUps },
  ]
}

type Loads = Awaited<ReturnType<typeof createLoads>>

async function createLoads(url: string) {
  const emails = Array.from({ length: ACCOUNTS }, (_, index) => `password${index}@bench.example`)
  const sessions = []
  for (const email of emails) sessions.push(await signUp(url, email))
  const signIns: Load = {
    method: 'POST',
    path: '/token?grant_type=password',
    body: JSON.stringify({ email: '{token}', password: PASSWORD }),
    tokens: emails,
    connections: CONNECTIONS,
  }
  const signUps: Load = {
    method: 'POST',
    path: '/signup',
    body: JSON.stringify({ email: 'signup{sequence}@bench.example', password: PASSWORD }),
    connections: CONNECTIONS,
  }
  // At a limited rate: 16 clients with a pause of 20 ms, some 750 requests a second.
  const users: Load = {
    method: 'GET',
    path: '/user',
    headers: { authorization: 'Bearer {token}' },
    tokens: sessions.map(({ access_token }) => access_token),
    connections: 16,
    pauseMs: 20,
  }
  const checks: Load = { method: 'GET', path: '/health', connections: users.connections, pauseMs: 20 }
  return { signIns, signUps, users, checks }
}

interface SideSamples {
  readonly results: SideResult[]
  /** Hashes a second of the bare library, right before and after each sample. */
  readonly hashes: number[]
}

interface PasswordSamples {
  readonly ours: SideSamples
  readonly reference: SideSamples
}

interface Samples {
  readonly signIns: PasswordSamples
  readonly signUps: PasswordSamples
  readonly alone: SideResult[]
  readonly meanwhile: SideResult[]
  readonly checked: SideResult[]
}

function emptySamples(): Samples {
  const none = (): PasswordSamples => ({ ours: { results: [], hashes: [] }, reference: { results: [], hashes: [] } })
  return { signIns: none(), signUps: none(), alone: [], meanwhile: [], checked: [] }
}

async function hashRate({ rounds, coreCount, cores }: PasswordOptions): Promise<number> {
  const output = await runProgram({
    program: process.execPath,
    args: [HASH_RATE, String(rounds.seconds / 2)],
    env: { UV_THREADPOOL_SIZE: threadsFor(coreCount) },
    cores,
  })
  return Number(output)
}

/** The sign-ins begin a second before the others and end a second after them. */
async function sampleDuringSignIns({ servers, generate, rounds }: PasswordOptions, signIns: Load, users: Load) {
  const server = servers.ours
  const signingIn = generate(server.url, signIns, rounds.seconds + 2)
  await delay(1_000)
  const result = await sample(server, users, generate, rounds.seconds)
  const { errors } = await signingIn
  return { ...result, errors: result.errors + errors }
}

function toResults({ signIns, signUps, alone, meanwhile, checked }: Samples) {
  const against = (name: string, { ours, reference }: PasswordSamples): PasswordResult => {
    const ofHashes = ({ results, hashes }: SideSamples) => distributionOf(pairedRatios(results.map(rateOf), hashes))
    return {
      name,
      goal: 0.95,
      ours: summarize(ours.results),
      reference: summarize(reference.results),
      ratio: distributionOf(pairedRatios(ours.results.map(rateOf), reference.results.map(rateOf))),
      hashesPerSecond: median(ours.hashes),
      ofHashes: { goal: 0.95, ours: ofHashes(ours), reference: ofHashes(reference) },
    }
  }
  const neighbour: NeighbourResult = {
    name: 'GET /user during sign-ins',
    goal: 1.5,
    alone: summarize(alone),
    meanwhile: summarize(meanwhile),
    ratio: distributionOf(meanwhile.map(({ p99Ms }, round) => p99Ms / (alone[round]?.p99Ms ?? 0))),
  }
  const health: HealthResult = { name: 'GET /health during sign-ins', goalMs: 20, meanwhile: summarize(checked) }
  return { work: [against('POST /token password', signIns), against('POST /signup', signUps)], neighbour, health }
}
