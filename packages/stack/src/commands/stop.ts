import { join } from 'node:path'
import { findStackByPort } from '../processes/free-ports.ts'
import { endProcess, findRunning } from '../processes/process-identity.ts'
import { planStack } from '../settings/plan.ts'
import { StackFailure } from '../stack-failure.ts'
import type { CommandContext } from './command-context.ts'

/** Longer than any stop. The stack kills a service or a database that does not end within seconds. */
const WAIT_MS = 60_000

/**
 * Stops the stack that runs from this checkout, like Ctrl-C, and waits until it has ended. It also finds a stack whose data were
 * removed. It succeeds if no stack runs.
 *
 * @throws StackFailure if the stack does not end, or belongs to another user
 */
export async function stopStack(context: CommandContext, waitMs = WAIT_MS): Promise<void> {
  const plan = planStack({ ...context, names: [], isWatched: false })
  const running = await findRunning(join(plan.runDirectory, 'stack.pid'))
  const pid = running?.pid ?? (await findStackByPort(plan.homePort, plan))
  if (pid === undefined) return context.say('Trestle is not running')
  if (!(await endProcess(pid, [{ signal: 'SIGTERM', waitMs, target: 'process' }])))
    throw new StackFailure([`Trestle (process ${pid}) has not stopped in ${waitMs / 1_000} s.`])
  context.say('Stopped')
}
