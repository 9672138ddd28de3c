import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { PASSWORD, signUp } from '../fixtures.ts'
import { threadsFor } from '../servers/deployment.ts'
import { runProgram } from '../servers/run-program.ts'
import type { Server } from '../servers/server.ts'
import { type Distribution, distributionOf, median, pairedRatios } from '../statistics.ts'
import { type Load, type LoadGenerator, rateOf, type Sample, sample, summarize, tryLoad } from './load.ts'
import type { Endpoint } from './scenarios.ts'

export interface Rounds {
  readonly count: number
  readonly seconds: number
}

/** The rate of password requests, and the machine's hash rate for comparison. */
export interface PasswordResult {
  readonly name: string
  readonly result: Sample
  readonly hashesPerSecond: number
  /** The share of the bare hash rate, which includes no requests, database or load generator. */
  readonly ofHashes: Distribution
}

export interface PasswordResults {
  readonly work: readonly PasswordResult[]
  /** `GET /user` alone and during sign-ins, and the ratio of the p99 values for each round. */
  readonly users: { readonly alone: Sample; readonly meanwhile: Sample; readonly ratio: Distribution }
  /** `GET /health` during sign-ins. A load balancer removes a service that answers too slowly. */
  readonly health: Sample
}

interface PasswordOptions {
  /** A server on all cores, as password work requires. */
  readonly server: Server
  readonly generate: LoadGenerator
  readonly rounds: Rounds
  readonly coreCount: number
  readonly cores: string | undefined
}

const CONNECTIONS = 16
const ACCOUNTS = 8
const HASH_RATE = join(import.meta.dirname, 'hash-rate.ts')

/** Even after hundreds of sign-ins, Node.js has not compiled all code of a server. */
const WARM_UP_SAMPLES = 8
/** The number of samples per round. The hash rate drifts, so it is measured before and after each sample. */
const SAMPLES_IN_ROUND = 3

/**
 * Measures sign-ins and sign-ups, with the bare hash rate before and after. Also measures `GET /user` alone and during sign-ins,
 * and health checks during sign-ins.
 */
export async function measurePasswords(options: PasswordOptions): Promise<PasswordResults> {
  const { server, generate, rounds } = options
  const { signIns, signUps, users, checks } = await createLoads(server.url)
  for (const load of [signIns, signUps, users, checks]) {
    await tryLoad(server.url, load)
    const samples = load === signIns || load === signUps ? WARM_UP_SAMPLES : 1
    await generate(server.url, load, rounds.seconds * samples)
  }
  const work = [
    { name: 'POST /token password', load: signIns, results: [] as Sample[], hashes: [] as number[] },
    { name: 'POST /signup', load: signUps, results: [] as Sample[], hashes: [] as number[] },
  ]
  const [alone, meanwhile, checked]: [Sample[], Sample[], Sample[]] = [[], [], []]
  for (let round = 0; round < rounds.count; round++) {
    for (const { load, results, hashes } of work) {
      let before = await hashRate(options)
      for (let count = 0; count < SAMPLES_IN_ROUND; count++) {
        results.push(await sample(server, load, generate, rounds.seconds))
        const after = await hashRate(options)
        hashes.push((before + after) / 2)
        before = after
      }
    }
    alone.push(await sample(server, users, generate, rounds.seconds))
    meanwhile.push(await sampleDuringSignIns(options, signIns, users))
    checked.push(await sampleDuringSignIns(options, signIns, checks))
  }
  const ratios = meanwhile.map(({ p99Ms }, round) => p99Ms / (alone[round]?.p99Ms ?? 0))
  return {
    work: work.map(({ name, results, hashes }) => ({
      name,
      result: summarize(results),
      hashesPerSecond: median(hashes),
      ofHashes: distributionOf(pairedRatios(results.map(rateOf), hashes)),
    })),
    users: { alone: summarize(alone), meanwhile: summarize(meanwhile), ratio: distributionOf(ratios) },
    health: summarize(checked),
  }
}

/** Prepares sign-ins and sign-ups as rows of a table of endpoints. */
export async function preparePasswordEndpoints(url: string): Promise<readonly Endpoint[]> {
  const { signIns, signUps } = await createLoads(url)
  return [
    { name: 'POST /token password', nextLoad: async () => signIns },
    { name: 'POST /signup', nextLoad: async () => signUps },
  ]
}

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
  // Limit the rate: 16 clients with a pause of 20 ms send about 750 requests per second.
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

async function hashRate({ rounds, coreCount, cores }: PasswordOptions): Promise<number> {
  const output = await runProgram({
    program: process.execPath,
    args: [HASH_RATE, String(rounds.seconds / 2)],
    env: { UV_THREADPOOL_SIZE: threadsFor(coreCount) },
    cores,
  })
  return Number(output)
}

/** The sign-ins begin one second before the load and end one second after it. */
async function sampleDuringSignIns({ server, generate, rounds }: PasswordOptions, signIns: Load, load: Load) {
  const signingIn = generate(server.url, signIns, rounds.seconds + 2)
  await delay(1_000)
  const result = await sample(server, load, generate, rounds.seconds)
  const { errors } = await signingIn
  return { ...result, errors: result.errors + errors }
}
