import { setTimeout as delay } from 'node:timers/promises'
import { StackFailure } from '../stack-failure.ts'
import type { Child, ChildEnd } from './child.ts'
import type { EndStep } from './end-process.ts'

/** How to keep a process running. */
export interface SuperviseOptions {
  /** Starts it again; the first one is already running. */
  readonly start: () => Promise<Child>
  readonly endSteps: readonly EndStep[]
  /** Told whenever it has ended without being asked to. */
  readonly onEnd: (name: string, end: ChildEnd) => void
  readonly restartDelayMs?: number
}

/** A process that is kept running until it is ended. */
export interface Supervised {
  /** Rejects when starting it again makes no sense any more; never resolves. */
  readonly failed: Promise<never>
  end(): Promise<void>
}

const RESTART_DELAY_MS = 500
/** So many ends without one quiet minute in between, and the stack gives up. */
const RESTARTS_MAX = 5
const QUIET_MS = 60_000

/** Starts a process again when it ends by itself, for example after `kill -9`. */
export function supervise(first: Child, options: SuperviseOptions): Supervised {
  const ending = new AbortController()
  let child = first
  const keepRunning = async (): Promise<void> => {
    for (let restarts = 0; ; restarts += 1) {
      if (await isQuiet(child, ending.signal)) restarts = 0
      const end = await child.ended
      if (ending.signal.aborted) return
      options.onEnd(child.name, end)
      if (restarts >= RESTARTS_MAX) throw new StackFailure([`${child.name} ends again and again.`])
      await delay(options.restartDelayMs ?? RESTART_DELAY_MS, undefined, { signal: ending.signal }).catch(
        () => undefined,
      )
      if (ending.signal.aborted) return
      child = await options.start()
      // Asked to end while it was being started: nobody else knows of it yet.
      if (ending.signal.aborted) return await child.end(options.endSteps)
    }
  }
  const running = keepRunning()
  const failed = running.then(() => new Promise<never>(() => undefined))
  // Looked at only once everything is up; until then a failure must not count as unhandled.
  failed.catch(() => undefined)
  return {
    failed,
    end: async () => {
      ending.abort()
      await child.end(options.endSteps)
      await running.catch(() => undefined)
    },
  }
}

/** False when the process ends, or is to end, before it has run for a while. */
async function isQuiet(child: Child, ending: AbortSignal): Promise<boolean> {
  const quiet = delay(QUIET_MS, true, { signal: ending, ref: false }).catch(() => false)
  return await Promise.race([child.ended.then(() => false), quiet])
}
