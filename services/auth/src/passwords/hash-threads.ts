import { Worker } from 'node:worker_threads'
import type { HashOutcome, HashTask } from './hash-task.ts'

/** Threads that do password work. They start as they are needed; an idle one keeps no process from ending. */
export interface HashThreads {
  /**
   * Does tasks one after the other on a thread that is idle, else on a new one. Nobody hears of the first before the last is
   * done. Throws when the thread cannot start or ends.
   */
  run(tasks: readonly HashTask[]): Promise<readonly HashOutcome[]>
}

interface HashThread {
  readonly worker: Worker
  /** Of the batch that it was given last. */
  answer: PromiseWithResolvers<readonly HashOutcome[]>
}

/** @param program of each thread: answers every batch by one message */
export function createHashThreads(program: URL): HashThreads {
  const idle: HashThread[] = []
  const start = (): HashThread => {
    // What this process was started with (a profile, a program given as text) is not for its threads.
    const worker = new Worker(program, { execArgv: [] })
    const thread = { worker, answer: Promise.withResolvers<readonly HashOutcome[]>() }
    worker.on('message', (outcomes: readonly HashOutcome[]) => {
      worker.unref()
      idle.push(thread)
      thread.answer.resolve(outcomes)
    })
    const leave = (error: Error) => {
      const place = idle.indexOf(thread)
      if (place >= 0) idle.splice(place, 1)
      // Of an idle thread nobody hears that it has ended: the next batch gets another.
      thread.answer.reject(error)
    }
    worker.on('error', leave)
    worker.on('exit', () => leave(new Error('a hash thread has ended')))
    return thread
  }
  return {
    run: async (tasks) => {
      const thread = idle.pop() ?? start()
      thread.answer = Promise.withResolvers()
      thread.worker.ref()
      thread.worker.postMessage(tasks)
      return thread.answer.promise
    },
  }
}

/** Those of this process. They are as many as batches were ever under way at once: one a core for each hasher. */
export const hashThreads = createHashThreads(new URL('./hash-thread.ts', import.meta.url))
