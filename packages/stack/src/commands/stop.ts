import { join } from 'node:path'
import { endProcess } from '../processes/end-process.ts'
import { findRunning } from '../processes/pid-file.ts'
import { planStack } from '../settings/plan.ts'
import { StackFailure } from '../stack-failure.ts'
import type { CommandContext } from './command-context.ts'

/** A stack gives its services and its database seconds each, and kills them then. */
const WAIT_MS = 60_000

/**
 * Stops the stack that runs from this checkout, as a Ctrl-C does, and waits until it has ended. That none runs is no failure.
 *
 * @throws StackFailure when the stack does not end
 */
export async function stopStack(context: CommandContext, waitMs = WAIT_MS): Promise<void> {
  const { runDirectory } = planStack({ ...context, names: [], isWatched: false })
  const running = await findRunning(join(runDirectory, 'stack.pid'))
  if (running === undefined) return context.say('Trestle is not running')
  if (!(await endProcess(running.pid, [{ signal: 'SIGTERM', waitMs, target: 'process' }])))
    throw new StackFailure([`Trestle (process ${running.pid}) has not stopped in ${waitMs / 1_000} s.`])
  context.say('Stopped')
}
