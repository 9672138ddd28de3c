import { setTimeout as delay } from 'node:timers/promises'
import { StackFailure } from '../stack-failure.ts'
import { isAlive } from './process-identity.ts'

/** A signal, and how long to wait for the end of the process before the next signal, in milliseconds. */
export interface EndStep {
  readonly signal: NodeJS.Signals
  readonly waitMs: number
  /** `group` also reaches the processes that it has started, if it leads a process group. */
  readonly target: 'process' | 'group'
}

const POLL_MS = 20

/**
 * Ends a process step by step, even if it is not a child of this one.
 *
 * @returns whether it has ended
 * @throws StackFailure when the process belongs to another user
 */
export async function endProcess(pid: number, steps: readonly EndStep[]): Promise<boolean> {
  for (const step of steps) {
    sendSignal(pid, step)
    for (let waitedMs = 0; waitedMs < step.waitMs && isAlive(pid); waitedMs += POLL_MS) await delay(POLL_MS)
    if (!isAlive(pid)) return true
  }
  return !isAlive(pid)
}

/** Sends a signal. A process that has ended already is no error. @throws StackFailure when it belongs to another user */
export function sendSignal(pid: number, { signal, target }: Omit<EndStep, 'waitMs'>): void {
  try {
    process.kill(target === 'group' ? -pid : pid, signal)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ESRCH') return
    if (code !== 'EPERM') throw error
    throw new StackFailure([`Process ${pid} belongs to another user. Stop it as that user.`], { cause: error })
  }
}
