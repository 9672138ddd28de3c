import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findRunning } from '../processes/process-identity.ts'
import { isReady } from '../processes/readiness.ts'
import { planStack, type StackPlan } from '../settings/plan.ts'
import { StackFailure } from '../stack-failure.ts'
import { bannerLines } from '../status/banner.ts'
import type { StackStatus } from '../status/stack-status.ts'
import { readStatus, statusFileOf } from '../status/status-file.ts'
import type { CommandContext } from './command-context.ts'

/** The output format: for people, as shell lines that export each variable, or as one JSON object. */
export type StatusFormat = 'pretty' | 'env' | 'json'

const POLL_MS = 25

/**
 * Prints the addresses and keys of the stack that runs in this checkout.
 *
 * @param waitMs the time to wait until the stack is ready; by default the command does not wait
 * @throws StackFailure if no stack runs, or if it does not become ready in time
 */
export async function printStatus(context: CommandContext, format: StatusFormat, waitMs?: number): Promise<void> {
  const { say } = context
  const plan = planStack({ ...context, names: [], isWatched: false })
  if (waitMs !== undefined) await waitUntilReady(plan, waitMs)
  const running = await findRunning(pidFileOf(plan))
  if (running === undefined) throw new StackFailure(['Trestle is not running. Start it with: npm start'])
  const status = readStatus(plan)
  if (status === undefined) throw new StackFailure(['Trestle is still starting, or stopping. Ask again in a moment.'])
  if (format === 'json') return say(JSON.stringify(status, null, 2))
  if (format === 'env') return say(exportsFrom(readFileSync(statusFileOf(plan), 'utf8')))
  const late = await findLate(status)
  for (const line of bannerLines(status, plan)) say(line)
  say('')
  if (late.length === 0) say(`Trestle is running (process ${running.pid})`)
  else say(`Trestle is running (process ${running.pid}), but not ready: see ${late.join(', ')}, and npm start -- logs`)
}

/**
 * Waits until the stack has written its status and every service is ready. The stack may start after the wait begins, for example
 * if a shell has just run `npm start &`.
 *
 * @throws StackFailure if the stack ends before it is ready, or is not ready in time
 */
async function waitUntilReady(plan: StackPlan, waitMs: number): Promise<void> {
  const deadlineMs = performance.now() + waitMs
  let hasBegun = false
  while (performance.now() < deadlineMs) {
    const running = await findRunning(pidFileOf(plan))
    if (hasBegun && running === undefined)
      throw new StackFailure(['Trestle ended before it was ready. The output of its start says why.'])
    hasBegun = running !== undefined
    const status = running && readStatus(plan)
    if (status && (await findLate(status)).length === 0) return
    await delay(POLL_MS)
  }
  throw new StackFailure([`Trestle is not ready after ${waitMs / 1_000} s.`])
}

/** Returns the addresses of the services and the console that do not report that they are ready. */
async function findLate(status: StackStatus): Promise<readonly string[]> {
  const { AUTH_URL, PAYMENTS_URL, INVENTORY_URL, CONSOLE_URL } = status
  const started = [AUTH_URL, PAYMENTS_URL, INVENTORY_URL, CONSOLE_URL].filter((url) => url !== undefined)
  const urls = started.map((url) => `${url}/ready`)
  const ready = await Promise.all(urls.map(isReady))
  return urls.filter((_, index) => !ready[index])
}

function pidFileOf({ runDirectory }: StackPlan): string {
  return join(runDirectory, 'stack.pid')
}

/** The variables with `export`, so that programs started by the shell after `eval` also have them. */
function exportsFrom(text: string): string {
  return text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/^(?=\w+=)/gm, 'export ')
    .trimEnd()
}
