import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findRunning } from '../processes/pid-file.ts'
import { isReady } from '../processes/readiness.ts'
import { planStack } from '../settings/plan.ts'
import { StackFailure } from '../stack-failure.ts'
import { bannerLines } from '../status/banner.ts'
import { readStatus, statusFileOf } from '../status/status-file.ts'
import type { CommandContext } from './command-context.ts'

/** How the status is printed: for people, as lines that export each variable in a shell, or as one JSON object. */
export type StatusFormat = 'pretty' | 'env' | 'json'

/**
 * Prints the addresses and keys of the stack that runs in this checkout.
 *
 * @throws StackFailure when none runs
 */
export async function printStatus(context: CommandContext, format: StatusFormat): Promise<void> {
  const { say } = context
  const plan = planStack({ ...context, names: [], isWatched: false })
  const running = await findRunning(join(plan.runDirectory, 'stack.pid'))
  if (running === undefined) throw new StackFailure(['Trestle is not running. Start it with: npm start'])
  const status = readStatus(plan)
  if (status === undefined) throw new StackFailure(['Trestle is still starting, or stopping. Ask again in a moment.'])
  if (format === 'json') return say(JSON.stringify(status, null, 2))
  if (format === 'env') return say(exportsFrom(readFileSync(statusFileOf(plan), 'utf8')))
  const urls = [status.AUTH_URL, status.PAYMENTS_URL, status.INVENTORY_URL].filter((url) => url !== undefined)
  const answers = await Promise.all(urls.map(async (url) => ({ url, ready: await isReady(`${url}/ready`) })))
  for (const line of bannerLines(status, plan)) say(line)
  say('')
  const late = answers.filter(({ ready }) => !ready).map(({ url }) => `${url}/ready`)
  if (late.length === 0) say(`Trestle is running (process ${running.pid})`)
  else say(`Trestle is running (process ${running.pid}), but not ready: see ${late.join(', ')}, and npm start -- logs`)
}

/** The lines of a file of variables. With `export`, programs that the shell starts after its `eval` see the variables too. */
function exportsFrom(text: string): string {
  return text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/^(?=\w+=)/gm, 'export ')
    .trimEnd()
}
