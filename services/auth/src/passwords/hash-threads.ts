// Password hashing on threads of its own, so that the event loop stays free. One file holds both ends: the threads as the
// process sees them, and the program that each thread runs.
import { createCipheriv, pbkdf2Sync, scryptSync, timingSafeEqual } from 'node:crypto'
import { getPriority, platform, setPriority } from 'node:os'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { ARGON2_COST, BCRYPT_COST, type PasswordAlgorithm, type ScryptHash, type StoredHash } from './stored-hash.ts'

/** One unit of password work, as it goes to a thread. */
export type HashTask =
  | { readonly kind: 'hash'; readonly alg: PasswordAlgorithm; readonly password: string }
  | { readonly kind: 'verify'; readonly password: string; readonly stored: StoredHash }

export type HashOutcome =
  | { readonly verdict: 'hashed'; readonly hash: string }
  | { readonly verdict: 'verified'; readonly matches: boolean }
  | { readonly verdict: 'failed'; readonly error: Error }

/**
 * Does tasks one after the other on an idle thread, or on a new one. Resolves with the outcomes, in the order of the tasks,
 * when all are done. Rejects when the thread cannot start or ends.
 */
export type RunHashTasks = (tasks: readonly HashTask[]) => Promise<readonly HashOutcome[]>

interface HashThread {
  readonly worker: Worker
  /** Resolves when the newest batch of tasks is done. */
  outcomes: PromiseWithResolvers<readonly HashOutcome[]>
}

/** Tells the program of a thread apart from this file in any other thread. */
const HASH_THREAD = 'trestle-hash-thread'

/**
 * Threads start as they are needed. An idle thread does not keep the process from ending.
 * @param program of each thread: answers every batch with one message
 */
export function createHashThreads(program: URL): RunHashTasks {
  const idle: HashThread[] = []
  const start = (): HashThread => {
    // A thread takes none of the options of this process, such as a profiler or a program given as text.
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
      // Nothing awaits an idle thread, so its end goes unnoticed here, and the next batch gets another thread.
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

/** Runs batches of tasks on the threads of this process. Each hasher uses up to one thread a core. */
export const runHashTasks = createHashThreads(new URL(import.meta.url))

/** The two functions that this service needs of an argon2 library. They may block the thread that calls them. */
export interface Argon2 {
  /** An argon2id hash in PHC form, with a random salt of 16 bytes. */
  hash(password: string): Promise<string>
  /** Whether a password matches an argon2id or argon2i hash in PHC form. @throws Error on any other text */
  verify(hash: string, password: string): Promise<boolean>
}

/**
 * Loads the fastest argon2 library that runs on this machine: the Rust build, or the C build, which is 3 times as slow.
 * @throws Error where neither is installed
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

/** Loads `argon2`, whose C code is compiled where it is installed. @throws Error where it is not installed */
export async function loadNodeArgon2(): Promise<Argon2> {
  const { argon2id, hash, verify } = await import('argon2')
  const cost = { memoryCost: ARGON2_COST.m, timeCost: ARGON2_COST.t, parallelism: ARGON2_COST.p }
  return { hash: (password) => hash(password, { type: argon2id, ...cost }), verify }
}

/** Does one task. Never throws: a failure is the outcome of this task alone, not of the others of its batch. */
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
  // `crypt()` of pgcrypto knows no other version.
  return hashSync(password, { cost: BCRYPT_COST, version: '2a' })
}

/** Whether a password matches a stored hash. Blocks the thread for as long as the hash takes. */
async function verifyPassword(argon2: Argon2, stored: StoredHash, password: string): Promise<boolean> {
  switch (stored.alg) {
    case 'argon2id':
    case 'argon2i':
      return argon2.verify(stored.hash, password)
    case 'bcrypt': {
      // Loaded when it is first needed, since most services never need it.
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

/** The key stream of AES-256 in counter mode. Firebase encrypts its project's signer key with it, and stores that as the hash. */
function keyStream(key: Buffer, length: number): Buffer {
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(length))
}

function scryptKey({ cost, blockSize, parallelization, salt }: ScryptHash, password: string, length: number): Buffer {
  // Node refuses more than 32 MiB by default. `parseStoredHash` has bounded the cost.
  const maxmem = 128 * blockSize * (cost + parallelization + 2)
  return scryptSync(password, salt, length, { cost, blockSize, parallelization, maxmem })
}

/** Steps below the priority of the process: enough to give way to requests, without starving on a busy machine. */
const PRIORITY_STEPS = 10
const LOWEST_PRIORITY = 19

/** The program of a hash thread. */
async function serveTasks(): Promise<void> {
  // At equal priority, a flood of sign-ins made one request in a hundred wait three times as long. Only Linux has a priority
  // for each thread.
  if (platform() === 'linux') setPriority(Math.min(getPriority() + PRIORITY_STEPS, LOWEST_PRIORITY))
  const argon2 = await loadArgon2()
  parentPort?.on('message', async (tasks: readonly HashTask[]) => {
    const outcomes: HashOutcome[] = []
    for (const task of tasks) outcomes.push(await runHashTask(argon2, task))
    parentPort?.postMessage(outcomes)
  })
}

if (workerData === HASH_THREAD) await serveTasks()
