import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Rounds, type SideResult, sample, summarize } from './compare.ts'
import type { Load, LoadGenerator } from './load/load.ts'
import { tryLoad } from './load/load.ts'
import { runProgram } from './processes/run-program.ts'
import type { Server } from './processes/server.ts'
import { PASSWORD, signUp } from './services/auth.ts'
import { type Distribution, distributionOf, median } from './statistics.ts'

/** Work on passwords against what the machine can do at all. */
export interface PasswordResult {
  readonly name: string
  readonly goal: number
  readonly ours: SideResult
  /** Hashes a second of the library alone, on all cores. */
  readonly hashesPerSecond: number
  readonly ratio: Distribution
}

/** What password work does to everybody else. */
export interface NeighbourResult {
  readonly name: string
  /** Largest p99 meanwhile, as a multiple of that alone. */
  readonly goal: number
  readonly alone: SideResult
  readonly meanwhile: SideResult
  /** Of the p99 of the same round. */
  readonly ratio: Distribution
}

/** What the measurement works with. */
export interface PasswordOptions {
  /** The service on all cores: password work needs them. */
  readonly server: Server
  readonly generate: LoadGenerator
  readonly rounds: Rounds
  readonly coreCount: number
  /** Cores of the hashes of the library alone. */
  readonly cores: string | undefined
}

const CONNECTIONS = 16
const ACCOUNTS = 8
const EXTRA_THREADS = 4
const HASH_RATE = join(import.meta.dirname, 'hash-rate.ts')

/** Log-ins and sign-ups beside the raw hash rate of the same round, and GET /user alone and during log-ins. */
export async function measurePasswords(options: PasswordOptions) {
  const { server, generate, rounds } = options
  const emails = Array.from({ length: ACCOUNTS }, (_, index) => `password${index}@bench.example`)
  const sessions = []
  for (const email of emails) sessions.push(await signUp(server.url, email))
  const logIns: Load = {
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
  // Not as fast as possible: 16 people with a pause of 20 ms, some 750 requests a second.
  const users: Load = {
    method: 'GET',
    path: '/user',
    headers: { authorization: 'Bearer {token}' },
    tokens: sessions.map(({ access_token }) => access_token),
    connections: 16,
    pauseMs: 20,
  }
  for (const load of [logIns, signUps, users]) await tryLoad(server.url, load)
  const samples: Samples = { hashes: [], logIns: [], signUps: [], alone: [], meanwhile: [] }
  for (let round = 0; round < rounds.count; round++) {
    samples.hashes.push(await hashRate(options))
    samples.logIns.push(await sample(server, logIns, generate, rounds.seconds))
    samples.signUps.push(await sample(server, signUps, generate, rounds.seconds))
    samples.alone.push(await sample(server, users, generate, rounds.seconds))
    samples.meanwhile.push(await duringLogIns(options, logIns, users))
  }
  return toResults(samples)
}

interface Samples {
  readonly hashes: number[]
  readonly logIns: SideResult[]
  readonly signUps: SideResult[]
  readonly alone: SideResult[]
  readonly meanwhile: SideResult[]
}

async function hashRate({ rounds, coreCount, cores }: PasswordOptions): Promise<number> {
  const output = await runProgram({
    program: process.execPath,
    args: [HASH_RATE, String(rounds.seconds)],
    env: { UV_THREADPOOL_SIZE: String(coreCount + EXTRA_THREADS) },
    cores,
  })
  return Number(output)
}

/** The log-ins begin a second before the others and end a second after them. */
async function duringLogIns({ server, generate, rounds }: PasswordOptions, logIns: Load, users: Load) {
  const loggingIn = generate(server.url, logIns, rounds.seconds + 2)
  await delay(1_000)
  const result = await sample(server, users, generate, rounds.seconds)
  const { errors } = await loggingIn
  return { ...result, errors: result.errors + errors }
}

function toResults({ hashes, logIns, signUps, alone, meanwhile }: Samples) {
  const against = (name: string, side: readonly SideResult[]): PasswordResult => ({
    name,
    goal: 0.95,
    ours: summarize(side),
    hashesPerSecond: median(hashes),
    ratio: distributionOf(side.map(({ requestsPerSecond }, round) => requestsPerSecond / (hashes[round] ?? 0))),
  })
  const neighbour: NeighbourResult = {
    name: 'GET /user during log-ins',
    goal: 1.5,
    alone: summarize(alone),
    meanwhile: summarize(meanwhile),
    ratio: distributionOf(meanwhile.map(({ p99Ms }, round) => p99Ms / (alone[round]?.p99Ms ?? 0))),
  }
  return { work: [against('POST /token password', logIns), against('POST /signup', signUps)], neighbour }
}
