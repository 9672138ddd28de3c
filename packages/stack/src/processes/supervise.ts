import { setTimeout as delay } from 'node:timers/promises'
import { StackFailure } from '../stack-failure.ts'
import { type Child, type ChildEnd, reasonOf } from './child.ts'
import type { EndStep } from './process-identity.ts'

/** How to keep a process running. */
export interface SuperviseOptions {
  /** Starts the process again. The first one is already running. */
  readonly start: () => Promise<Child>
  readonly endSteps: readonly EndStep[]
  /** Called whenever the process has ended by itself and is about to start again. */
  readonly onEnd: (name: string, end: ChildEnd) => void
  readonly restartDelayMs?: number
}

/** A process that is kept running until `end`. */
export interface Supervised {
  /** Never resolves. Rejects when the process ends too often. */
  readonly failed: Promise<never>
  /** Ends the process, which does not start again. Resolves when it has ended. */
  readonly end: () => Promise<void>
}

const RESTART_DELAY_MS = 500
/** After this many ends without a quiet minute in between, the stack gives up. */
const RESTARTS_MAX = 5
const QUIET_MS = 60_000

/** Returns a process that starts again when it ends by itself, for example after `kill -9`. */
export function supervise(first: Child, options: SuperviseOptions): Supervised {
  const ending = new AbortController()
  let child = first
  const keepRunning = async (): Promise<void> => {
    for (let restarts = 0; ; restarts += 1) {
      if (await isQuiet(child, ending.signal)) restarts = 0
      const end = await child.ended
      if (ending.signal.aborted) return
      if (restarts >= RESTARTS_MAX) {
        throw new StackFailure([`${child.name} has ended too often (the last time: ${reasonOf(end)}).`])
      }
      options.onEnd(child.name, end)
      await delay(options.restartDelayMs ?? RESTART_DELAY_MS, undefined, { signal: ending.signal }).catch(
        () => undefined,
      )
      if (ending.signal.aborted) return
      child = await options.start()
      // `end` was called during the start, when it did not know the new process yet.
      if (ending.signal.aborted) return await child.end(options.endSteps)
    }
  }
  const running = keepRunning()
  const failed = running.then(() => new Promise<never>(() => undefined))
  // The caller awaits it only when everything is up. Until then a failure must not count as unhandled.
  failed.catch(() => undefined)
  return {
    failed,
    end: async (): Promise<void> => {
      ending.abort()
      await child.end(options.endSteps)
      await running.catch(() => undefined)
    },
  }
}

/** @returns false when the process ends, or is to end, before it has run for a while */
async function isQuiet(child: Child, ending: AbortSignal): Promise<boolean> {
  const quiet = delay(QUIET_MS, true, { signal: ending, ref: false }).catch(() => false)
  return await Promise.race([child.ended.then(() => false), quiet])
}
