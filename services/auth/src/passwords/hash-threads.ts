import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { HashOutcome, HashTask } from './hash-task.ts'

const PROGRAM = new URL('./hash-thread.ts', import.meta.url)
/** Threads of this process that have nothing to do. */
const idle: Worker[] = []

/**
 * Does tasks one after the other on a hash thread of this process: one that is idle, else a new one. Nobody hears of the first
 * before the last is done. An idle thread keeps no process from ending.
 */
export async function runOnHashThread(tasks: readonly HashTask[]): Promise<readonly HashOutcome[]> {
  const thread = idle.pop() ?? new Worker(PROGRAM, { execArgv: [] })
  thread.ref()
  thread.postMessage(tasks)
  try {
    const [outcomes]: readonly HashOutcome[][] = await once(thread, 'message')
    idle.push(thread)
    return outcomes ?? []
  } finally {
    thread.unref()
  }
}
