import { readdirSync, readFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

const THREADS = '/proc/self/task'
/** The name of the threads on which libuv runs what would block, hashes above all. */
const WORKER = 'libuv-worker'
/** Steps below the priority of the process: enough to wait for everybody else, without starving on a busy machine. */
const BELOW = 10
const LOWEST = 19

/**
 * Lets the threads that hash step back behind the one that answers requests. A flood of log-ins keeps all cores busy; that
 * made one request in a hundred wait three times as long for its turn. To be called when the threads are there, after the
 * first asynchronous file access; where there is no /proc, it does nothing.
 */
export function lowerHashThreads(): void {
  const priority = Math.min(getPriority() + BELOW, LOWEST)
  for (const thread of listWorkers()) setPriority(thread, priority)
}

/** Ids of the worker threads of this process. */
export function listWorkers(): number[] {
  try {
    return readdirSync(THREADS)
      .filter((thread) => readFileSync(`${THREADS}/${thread}/comm`, 'utf8').trim() === WORKER)
      .map(Number)
  } catch {
    return []
  }
}
