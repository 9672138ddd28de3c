import type { HashOutcome, HashTask } from '../src/passwords/hash-task.ts'
import { hashThreads } from '../src/passwords/hash-threads.ts'

const hashes = new Map<string, string>()
const passwords = new Map<string, string>()

/**
 * Does password work on `hashThreads`, and hashes each password once: thousands of tests have a few passwords between them, and
 * a hash takes longer than most of the requests around it. Users with one password have one hash here.
 */
export function runRemembered(tasks: readonly HashTask[]): Promise<readonly HashOutcome[]> {
  return Promise.all(tasks.map(async (task) => recall(task) ?? (await learn(task))))
}

function recall(task: HashTask): HashOutcome | undefined {
  if (task.kind === 'compare') {
    const password = passwords.get(task.hash)
    return password === undefined ? undefined : { verdict: 'compared', matches: password === task.password }
  }
  const hash = hashes.get(task.password)
  return hash === undefined ? undefined : { verdict: 'hashed', hash }
}

async function learn(task: HashTask): Promise<HashOutcome> {
  const [outcome] = await hashThreads.run([task])
  if (outcome === undefined) throw new Error('a task came to nothing')
  if (outcome.verdict === 'hashed') {
    hashes.set(task.password, outcome.hash)
    passwords.set(outcome.hash, task.password)
  }
  return outcome
}
