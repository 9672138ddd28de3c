import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { StackStatus } from '@trestle/stack/status/stack-status.ts'
import { readStatus } from '@trestle/stack/status/status-file.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import { ROOT } from '../program.ts'
import { startServer } from '../servers/server.ts'

/** Longer than a start takes on a machine that has other work to do. */
export const START_MS_MAX = 300_000

/**
 * Starts what `npm start` starts, on ports of its own, and returns its addresses. Mails of auth lead to a page with a button.
 * Disposing of `started` ends it.
 * @throws Error when it does not become ready
 */
export async function startStack(dataDirectory: string, started: AsyncDisposableStack): Promise<StackStatus> {
  const base = await freePort()
  const server = await startServer({
    name: 'the stack',
    args: [join(ROOT, 'packages', 'stack', 'src', 'main.ts')],
    cwd: ROOT,
    cores: undefined,
    env: {
      PATH: process.env.PATH ?? '',
      AUTH_MAILER_LINK_MODE: 'confirm',
      TRESTLE_DATA_DIRECTORY: dataDirectory,
      TRESTLE_PORT_BASE: String(base),
    },
    // The home page, which is the first to answer.
    url: `http://localhost:${base + 3}`,
    signs: ['/'],
    startMsMax: START_MS_MAX,
  })
  started.defer(server.stop)
  const deadlineMs = performance.now() + START_MS_MAX
  while (performance.now() < deadlineMs) {
    const status = readStatus({ dataDirectory })
    if (status) return status
    await delay(100)
  }
  throw new Error('the stack does not become ready')
}
