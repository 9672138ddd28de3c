// The program of a hash thread: does the tasks of a message one after the other, and answers with what became of them.
import { getPriority, platform, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { loadArgon2 } from './argon2.ts'
import { type HashOutcome, type HashTask, runHashTask } from './hash-task.ts'

/** Steps below the priority of the process: enough to wait for everybody else, without starving on a busy machine. */
const BELOW = 10
const LOWEST = 19

/**
 * Steps back behind the thread that answers requests. A flood of log-ins keeps all cores busy; that made one request in a
 * hundred wait three times as long for its turn. Linux alone has a priority for each thread.
 */
function lowerPriority(): void {
  if (platform() === 'linux') setPriority(Math.min(getPriority() + BELOW, LOWEST))
}

lowerPriority()
const argon2 = await loadArgon2()
parentPort?.on('message', async (tasks: readonly HashTask[]) => {
  const outcomes: HashOutcome[] = []
  for (const task of tasks) outcomes.push(await runHashTask(argon2, task))
  parentPort?.postMessage(outcomes)
})
