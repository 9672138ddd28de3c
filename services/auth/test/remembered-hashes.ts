import { type HashOutcome, type HashTask, runHashTasks } from '../src/passwords/password-hasher.ts'

const outcomes = new Map<string, HashOutcome>()
const passwords = new Map<string, string>()

/**
 * Does password work like `runHashTasks`, but each task only once. Thousands of tests share a few passwords, and a hash takes
 * longer than most requests. So users with the same password have the same hash here.
 */
export function runRemembered(tasks: readonly HashTask[]): Promise<readonly HashOutcome[]> {
  return Promise.all(tasks.map(async (task) => recall(task) ?? (await doAndRemember(task))))
}

function recall(task: HashTask): HashOutcome | undefined {
  const password = task.kind === 'verify' && 'hash' in task.stored ? passwords.get(task.stored.hash) : undefined
  if (password !== undefined) return { verdict: 'verified', matches: password === task.password }
  return outcomes.get(JSON.stringify(task))
}

async function doAndRemember(task: HashTask): Promise<HashOutcome> {
  const [outcome] = await runHashTasks([task])
  if (outcome === undefined) throw new Error('a task came to nothing')
  if (outcome.verdict === 'failed') return outcome
  outcomes.set(JSON.stringify(task), outcome)
  if (outcome.verdict === 'hashed') passwords.set(outcome.hash, task.password)
  return outcome
}
