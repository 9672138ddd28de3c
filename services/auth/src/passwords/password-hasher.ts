// Hashing uses separate threads to keep the event loop free. This file contains the queue and the threads as the process sees
// them, and the program that each thread runs.
import { createCipheriv, pbkdf2Sync, scryptSync, timingSafeEqual } from 'node:crypto'
import { getPriority, platform, setPriority } from 'node:os'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { serverBusy } from '../errors.ts'
import {
  ARGON2_COST,
  BCRYPT_COST,
  isOutdated,
  type PasswordAlgorithm,
  parseHashOfRow,
  type ScryptHash,
  type StoredHash,
} from './stored-hash.ts'

/** Hashes and verifies passwords, a few at a time. @throws serverBusy if too many wait */
export interface PasswordHasher {
  /** Hashes a password with the algorithm for new hashes: argon2id in PHC form, or bcrypt. */
  hash(password: string): Promise<string>
  /**
   * Verifies a password with a stored hash in any form that `users import` accepts. `null` (an unknown user, or a user without a
   * password) takes as long as a current hash and never matches. A hash that cannot be parsed never matches either.
   * @param userId the user of the hash, for whom supabase/auth may have encrypted it
   */
  verify(hash: string | null, password: string, userId?: string): Promise<PasswordVerification>
}

export interface PasswordVerification {
  readonly matches: boolean
  /** Whether the password matches a hash with another algorithm or cost. If so, store a new hash. */
  readonly isOutdated: boolean
}

/** A hash operation, as a metric counts it. */
export interface HashWork {
  readonly kind: HashTask['kind']
  readonly alg: StoredHash['alg']
}

export interface HashScheme {
  readonly algorithm: PasswordAlgorithm
  /** Whether a correct password replaces a hash with another algorithm or cost. */
  readonly replacesOthers: boolean
}

const USUAL_SCHEME: HashScheme = { algorithm: 'argon2id', replacesOthers: true }

export interface PasswordHasherOptions extends Omit<HashQueueOptions, 'waitMsMax' | 'algorithm'> {
  /** By default, argon2id replaces all other hashes. */
  readonly scheme?: HashScheme
  /** Decrypts a hash that supabase/auth may have encrypted. Returns `undefined` if no key fits. Default: no change. */
  readonly readHash?: (userId: string, hash: string) => string | undefined
  /** Called for every hash operation. */
  readonly onWork?: (work: HashWork, stage: 'submitted' | 'completed') => void
}

/** The longest expected wait of a task. The queue rejects a task that would wait longer. */
const WAIT_MS_MAX = 2_000
const NO_MATCH: PasswordVerification = { matches: false, isOutdated: false }
/** Hashes of random, unknown passwords. Verifying them costs as much as verifying a current hash. */
const DUMMIES: Readonly<Record<PasswordAlgorithm, StoredHash>> = {
  argon2id: {
    alg: 'argon2id',
    hash: '$argon2id$v=19$m=19456,t=2,p=1$GJKc8fEj4AoR/PTojbIYew$4FW369TfP4mverPz47iy55cXe0b7kDmsq3By5PqRzWk',
    cost: ARGON2_COST,
  },
  bcrypt: { alg: 'bcrypt', hash: '$2a$10$fFmeOtxSDneZP82FkwK0zeskY8XLqmMEnH9zYT/iE/qv6IjaLMxT6' },
}

/** Creates the hasher of a process. Its separate threads keep other requests fast. */
export function createPasswordHasher({
  onWork,
  readHash = (_id, hash) => hash,
  scheme: { algorithm, replacesOthers } = USUAL_SCHEME,
  ...options
}: PasswordHasherOptions): PasswordHasher {
  const enqueue = createHashQueue({ ...options, algorithm, waitMsMax: WAIT_MS_MAX })
  const run = async (task: HashTask): Promise<HashOutcome> => {
    const work: HashWork = { kind: task.kind, alg: task.kind === 'hash' ? task.alg : task.stored.alg }
    onWork?.(work, 'submitted')
    const outcome = await enqueue(task)
    if (outcome.verdict === 'failed') throw outcome.error
    onWork?.(work, 'completed')
    return outcome
  }
  const read = (hash: string, userId = ''): StoredHash | undefined => parseHashOfRow(readHash(userId, hash) ?? '')
  return {
    hash: async (password) => {
      const outcome = await run({ kind: 'hash', alg: algorithm, password })
      if (outcome.verdict !== 'hashed') throw wrongOutcome()
      return outcome.hash
    },
    verify: async (hash, password, userId) => {
      const stored = hash === null ? undefined : read(hash, userId)
      const outcome = await run({ kind: 'verify', password, stored: stored ?? DUMMIES[algorithm] })
      if (outcome.verdict !== 'verified') throw wrongOutcome()
      if (!stored || !outcome.matches) return NO_MATCH
      return { matches: true, isOutdated: replacesOthers && isOutdated(stored, algorithm) }
    },
  }
}

function wrongOutcome(): Error {
  return new Error('a hash thread did another task than it was given')
}

/** The threads of a queue, and the longest wait. A task that would wait longer is rejected immediately. */
export interface HashQueueOptions {
  readonly runTasks: RunHashTasks
  /** The algorithm of current hashes. Default: argon2id. */
  readonly algorithm?: PasswordAlgorithm
  /** How many batches run at the same time: one for each core. */
  readonly concurrency: number
  /** The longest expected wait of a new task, in milliseconds. */
  readonly waitMsMax: number
  /** A monotonic clock, in milliseconds. */
  readonly clock: () => number
}

interface Waiting {
  readonly task: HashTask
  readonly outcome: PromiseWithResolvers<HashOutcome>
}

/** A line of tasks with similar durations. */
interface TaskLine {
  readonly waiting: Waiting[]
  /** How many threads the line may use at the same time. */
  readonly threadsMax: number
  readonly batchMax: number
  running: number
  /** The number of tasks that wait or run. */
  unfinished: number
  averageMs: number
}

/**
 * The largest batch of a thread. A hash evicts the processor caches, so the code after it runs several times slower. In a batch,
 * several hashes share this cost. The first task of a batch waits about 10 ms for each other task, but all tasks would wait
 * longer one by one.
 */
const BATCH_TASKS_MAX = 8
/** The assumed duration of a hash until the first ones are measured. */
const FIRST_GUESS_MS = 50
/** The weight of the newest measurement in the running average. */
const WEIGHT = 0.1
/** How many batches of current hashes run before a batch of outdated hashes. */
const TURNS = 8

/**
 * Creates a bounded queue for the hash threads. During a flood of sign-ins, the bound limits memory use and waiting times. It
 * follows from the measured time of a hash. While no more tasks wait than there are threads, each batch has one task.
 *
 * Outdated hashes have a separate line with at most half of the threads and without batches. An imported hash may take a hundred
 * times as long as a current hash, and a client who tries passwords with it must not block others.
 *
 * The returned function throws serverBusy if the line is too long.
 */
export function createHashQueue(options: HashQueueOptions): (task: HashTask) => Promise<HashOutcome> {
  const { runTasks, algorithm, concurrency, waitMsMax, clock } = options
  const current = createLine(concurrency, BATCH_TASKS_MAX)
  const outdated = createLine(Math.max(1, Math.floor(concurrency / 2)), 1)
  let turns = 0
  let isScheduled = false

  /** An async function, so that a synchronous error of `runTasks` becomes a rejection. */
  const attempt = async (batch: readonly Waiting[]) => await runTasks(batch.map(({ task }) => task))
  const runNext = async (line: TaskLine): Promise<void> => {
    const size = Math.min(line.batchMax, Math.ceil(line.waiting.length / line.threadsMax))
    const batch = line.waiting.splice(0, size)
    line.running += 1
    const startedMs = clock()
    const [result] = await Promise.allSettled([attempt(batch)])
    line.averageMs += WEIGHT * ((clock() - startedMs) / batch.length - line.averageMs)
    line.running -= 1
    line.unfinished -= batch.length
    // Start the next batch before answering this one. Otherwise the thread is idle while the callers continue.
    start()
    answerBatch(batch, result)
  }
  const chooseLine = (): TaskLine | undefined => {
    if (current.running + outdated.running === concurrency) return undefined
    const mayBeOutdated = outdated.waiting.length > 0 && outdated.running < outdated.threadsMax
    if (mayBeOutdated && (current.waiting.length === 0 || turns >= TURNS)) return outdated
    return current.waiting.length > 0 ? current : undefined
  }
  const start = (): void => {
    for (let line = chooseLine(); line !== undefined; line = chooseLine()) {
      turns = line === outdated ? 0 : turns + 1
      void runNext(line)
    }
  }
  /** Collects the tasks of one tick of the event loop, and distributes them to the threads together. */
  const schedule = (): void => {
    if (isScheduled || chooseLine() === undefined) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      start()
    })
  }

  return async (task) => {
    const line = task.kind === 'verify' && isOutdated(task.stored, algorithm) ? outdated : current
    const waitMs = ((line.unfinished + 1 - line.threadsMax) * line.averageMs) / line.threadsMax
    if (waitMs > waitMsMax) {
      throw serverBusy({ headers: { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1_000))) } })
    }
    const outcome = Promise.withResolvers<HashOutcome>()
    line.waiting.push({ task, outcome })
    line.unfinished += 1
    schedule()
    return outcome.promise
  }
}

function createLine(threadsMax: number, batchMax: number): TaskLine {
  return { waiting: [], threadsMax, batchMax, running: 0, unfinished: 0, averageMs: FIRST_GUESS_MS }
}

function answerBatch(batch: readonly Waiting[], result: PromiseSettledResult<readonly HashOutcome[]>): void {
  for (const [index, { outcome }] of batch.entries()) {
    const own = result.status === 'fulfilled' ? result.value[index] : undefined
    if (own !== undefined) outcome.resolve(own)
    else outcome.reject(result.status === 'rejected' ? result.reason : new Error('a task was left out'))
  }
}

/** A hash operation for a thread. */
export type HashTask =
  | { readonly kind: 'hash'; readonly alg: PasswordAlgorithm; readonly password: string }
  | { readonly kind: 'verify'; readonly password: string; readonly stored: StoredHash }

export type HashOutcome =
  | { readonly verdict: 'hashed'; readonly hash: string }
  | { readonly verdict: 'verified'; readonly matches: boolean }
  | { readonly verdict: 'failed'; readonly error: Error }

/**
 * Runs tasks one after the other on an idle thread, or on a new one. Resolves to the outcomes, in the order of the tasks, after
 * all tasks. Rejects if the thread cannot start or if it ends.
 */
export type RunHashTasks = (tasks: readonly HashTask[]) => Promise<readonly HashOutcome[]>

interface HashThread {
  readonly worker: Worker
  /** Resolves after the newest batch of tasks. */
  outcomes: PromiseWithResolvers<readonly HashOutcome[]>
}

/** Marks a worker that runs the program of a hash thread. Other threads also import this file. */
const HASH_THREAD = 'trestle-hash-thread'

/**
 * Starts threads on demand. An idle thread does not keep the process alive.
 * @param program the program of each thread, which answers every batch with one message
 */
export function createHashThreads(program: URL): RunHashTasks {
  const idle: HashThread[] = []
  const start = (): HashThread => {
    // Pass no options of this process to the thread, such as a profiler or `--eval`.
    const worker = new Worker(program, { execArgv: [], workerData: HASH_THREAD })
    const thread = { worker, outcomes: Promise.withResolvers<readonly HashOutcome[]>() }
    worker.on('message', (outcomes: readonly HashOutcome[]) => {
      worker.unref()
      idle.push(thread)
      thread.outcomes.resolve(outcomes)
    })
    const remove = (error: Error) => {
      const place = idle.indexOf(thread)
      if (place >= 0) idle.splice(place, 1)
      // If the thread is idle, nothing awaits this promise. The next batch gets another thread.
      thread.outcomes.reject(error)
    }
    worker.on('error', remove)
    worker.on('exit', () => remove(new Error('a hash thread has ended')))
    return thread
  }
  return async (tasks) => {
    const thread = idle.pop() ?? start()
    thread.outcomes = Promise.withResolvers()
    thread.worker.ref()
    thread.worker.postMessage(tasks)
    return thread.outcomes.promise
  }
}

/** Runs batches of tasks on the threads of this process. Each hasher uses up to one thread for each core. */
export const runHashTasks = createHashThreads(new URL(import.meta.url))

/** The functions that this service needs from an argon2 library. They may block the calling thread. */
export interface Argon2 {
  /** Returns an argon2id hash in PHC form, with a random salt of 16 bytes. */
  hash(password: string): Promise<string>
  /** Whether a password matches an argon2id or argon2i hash in PHC form. @throws Error for any other text */
  verify(hash: string, password: string): Promise<boolean>
}

/**
 * Loads the fastest argon2 library for this machine: the Rust build, or the C build, which takes 3 times as long.
 * @throws Error if neither is installed
 */
export async function loadArgon2(): Promise<Argon2> {
  try {
    return await loadRustArgon2()
  } catch {
    return await loadNodeArgon2()
  }
}

/** Loads `@node-rs/argon2`, which comes prebuilt for the common platforms. @throws Error on any other platform */
export async function loadRustArgon2(): Promise<Argon2> {
  const { hashSync, verifySync } = await import('@node-rs/argon2')
  const cost = { memoryCost: ARGON2_COST.m, timeCost: ARGON2_COST.t, parallelism: ARGON2_COST.p }
  return {
    hash: async (password) => hashSync(password, cost),
    verify: async (hash, password) => verifySync(hash, password),
  }
}

/** Loads `argon2`, which compiles its C code during installation. @throws Error if it is not installed */
export async function loadNodeArgon2(): Promise<Argon2> {
  const { argon2id, hash, verify } = await import('argon2')
  const cost = { memoryCost: ARGON2_COST.m, timeCost: ARGON2_COST.t, parallelism: ARGON2_COST.p }
  return { hash: (password) => hash(password, { type: argon2id, ...cost }), verify }
}

/** Runs one task. Never throws: an error is the outcome of its own task, and other tasks of the batch still run. */
export async function runHashTask(argon2: Argon2, task: HashTask): Promise<HashOutcome> {
  try {
    if (task.kind === 'hash') return { verdict: 'hashed', hash: await hashPassword(argon2, task) }
    return { verdict: 'verified', matches: await verifyPassword(argon2, task.stored, task.password) }
  } catch (error) {
    return { verdict: 'failed', error: error instanceof Error ? error : new Error(String(error)) }
  }
}

async function hashPassword(argon2: Argon2, { alg, password }: Extract<HashTask, { kind: 'hash' }>): Promise<string> {
  if (alg === 'argon2id') return argon2.hash(password)
  const { hashSync } = await import('@node-rs/bcrypt')
  // `crypt()` of pgcrypto supports no other version.
  return hashSync(password, { cost: BCRYPT_COST, version: '2a' })
}

/** Returns whether a password matches a stored hash. Blocks the thread during the computation. */
async function verifyPassword(argon2: Argon2, stored: StoredHash, password: string): Promise<boolean> {
  switch (stored.alg) {
    case 'argon2id':
    case 'argon2i':
      return argon2.verify(stored.hash, password)
    case 'bcrypt': {
      // Load the library on first use, because most services never need it.
      const { verifySync } = await import('@node-rs/bcrypt')
      return verifySync(password, stored.hash)
    }
    case 'pbkdf2': {
      const { salt, key, iterations, digest } = stored
      return timingSafeEqual(pbkdf2Sync(password, salt, iterations, key.length, digest), key)
    }
    case 'scrypt':
      return timingSafeEqual(scryptKey(stored, password, stored.key.length), stored.key)
    case 'firebase-scrypt': {
      const derived = scryptKey(stored, password, FIREBASE_KEY_BYTES)
      return timingSafeEqual(keyStream(derived, stored.key.length), stored.key)
    }
  }
}

const FIREBASE_KEY_BYTES = 32

/** The key stream of AES-256-CTR. Firebase encrypts the signer key of the project with it, and stores the result. */
function keyStream(key: Buffer, length: number): Buffer {
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(length))
}

function scryptKey({ cost, blockSize, parallelization, salt }: ScryptHash, password: string, length: number): Buffer {
  // By default, Node.js allows at most 32 MiB. `parseStoredHash` has limited the cost.
  const maxmem = 128 * blockSize * (cost + parallelization + 2)
  return scryptSync(password, salt, length, { cost, blockSize, parallelization, maxmem })
}

/** How far the priority of hash threads is lowered: requests come first, but hashing still makes progress. */
const PRIORITY_STEPS = 10
const LOWEST_PRIORITY = 19

/** The program of a hash thread. */
async function serveTasks(): Promise<void> {
  // At equal priority, a flood of sign-ins made one request in a hundred wait three times as long. Only Linux has a priority for
  // each thread.
  if (platform() === 'linux') setPriority(Math.min(getPriority() + PRIORITY_STEPS, LOWEST_PRIORITY))
  const argon2 = await loadArgon2()
  parentPort?.on('message', async (tasks: readonly HashTask[]) => {
    const outcomes: HashOutcome[] = []
    for (const task of tasks) outcomes.push(await runHashTask(argon2, task))
    parentPort?.postMessage(outcomes)
  })
}

if (workerData === HASH_THREAD) await serveTasks()
