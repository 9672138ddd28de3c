import { type HashOutcome, type HashTask, runHashTasks } from '../src/passwords/hash-threads.ts'

const hashes = new Map<string, string>()
const passwords = new Map<string, string>()

/**
 * Does password work like `runHashTasks`, but hashes each password once: thousands of tests have a few passwords between them,
 * and a hash takes longer than most of the requests around it. So users with the same password have the same hash here.
 */
export function runRemembered(tasks: readonly HashTask[]): Promise<readonly HashOutcome[]> {
  return Promise.all(tasks.map(async (task) => recall(task) ?? (await hashAndRemember(task))))
}

function recall(task: HashTask): HashOutcome | undefined {
  if (task.kind === 'verify') {
    const password = 'hash' in task.stored ? passwords.get(task.stored.hash) : undefined
    return password === undefined ? undefined : { verdict: 'verified', matches: password === task.password }
  }
  const hash = hashes.get(task.password)
  return hash === undefined ? undefined : { verdict: 'hashed', hash }
}

async function hashAndRemember(task: HashTask): Promise<HashOutcome> {
  const [outcome] = await runHashTasks([task])
  if (outcome === undefined) throw new Error('a task came to nothing')
  if (outcome.verdict === 'hashed') {
    hashes.set(task.password, outcome.hash)
    passwords.set(outcome.hash, task.password)
  }
  return outcome
}
