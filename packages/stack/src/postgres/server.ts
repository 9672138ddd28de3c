import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Child, type ChildEnd, startChild } from '../processes/child.ts'
import { endProcess, findCommandLine } from '../processes/process-identity.ts'
import { StackFailure } from '../stack-failure.ts'
import type { PostgresHome } from './home.ts'

interface ServerOptions {
  readonly home: PostgresHome
  readonly port: number
  readonly logFile: string
  readonly signal: AbortSignal
  /** Additional server settings. They replace the defaults. */
  readonly settings?: Readonly<Record<string, string | number>>
}

/** SIGINT is a fast shutdown, SIGQUIT an immediate one, after which the next start recovers from the write-ahead log. */
export const serverEndSteps = [
  { signal: 'SIGINT', waitMs: 1_300, target: 'process' },
  { signal: 'SIGQUIT', waitMs: 300, target: 'process' },
  { signal: 'SIGKILL', waitMs: 200, target: 'group' },
] as const

const POLL_MS = 20
const RETRY_MS = 200
const RETRIES_MAX = 25

/**
 * Starts the server and waits until it accepts connections. First stops a server that an earlier stack left running on the same
 * data.
 *
 * @throws StackFailure with the last lines of the server, if it does not start
 */
export async function startServer(options: ServerOptions): Promise<Child> {
  for (let attempt = 0; ; attempt += 1) {
    await endLeftoverServer(options.home.data)
    const server = await launch(options)
    const end = await waitUntilReady(server, options)
    if (end === undefined) return server
    // Backends of a killed server write to the same log, so the reason may stand above the last lines.
    if (attempt < RETRIES_MAX && server.output().some(isPassing)) await delay(RETRY_MS)
    else throw new StackFailure(['PostgreSQL does not start:', ...end.tail, `Its log is ${options.logFile}.`])
  }
}

function launch({ home, port, logFile, ...options }: ServerOptions): Promise<Child> {
  // Use no socket file. Its path may have at most 107 bytes, and the path of a checkout may be longer.
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    password_encryption: 'scram-sha-256',
    log_line_prefix: '%m [%p] ',
    ...options.settings,
  }
  return startChild({
    name: 'PostgreSQL',
    program: join(home.binaries, 'bin', 'postgres'),
    args: ['-D', home.data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    cwd: '/',
    logFile,
    ...(home.account && { account: { uid: home.account.uid, gid: home.account.gid } }),
  })
}

/** Waits until the server is ready. Returns how the server ended, if it ended before that. */
async function waitUntilReady(server: Child, { home, signal }: ServerOptions): Promise<ChildEnd | undefined> {
  let end: ChildEnd | undefined
  void server.ended.then((value) => {
    end = value
  })
  while (end === undefined) {
    if (signal.aborted) {
      await server.end(serverEndSteps)
      signal.throwIfAborted()
    }
    const state = findServerState(home.data)
    if (state?.pid === server.pid && state.isReady) return undefined
    await delay(POLL_MS)
  }
  return end
}

/** Returns whether the failure is temporary. After `kill -9` of the server, its backends need a moment to end. */
function isPassing(line: string): boolean {
  return line.includes('shared memory block') || line.includes('lock file "postmaster.pid" already exists')
}

/** The state in `postmaster.pid`, a file that a running server writes into its data directory. */
interface ServerState {
  readonly pid: number
  /** Whether the server accepts connections, from line 8 of the file. */
  readonly isReady: boolean
}

/**
 * Stops a server that a killed stack left running on this data, and removes the pid file of a server that no longer runs.
 * PostgreSQL itself would not remove the pid file if another process now has the same id.
 *
 * @throws StackFailure if the server does not stop
 */
export async function endLeftoverServer(data: string): Promise<void> {
  const state = findServerState(data)
  if (state === undefined) return
  if ((await findCommandLine(state.pid))?.includes(data)) {
    const hasEnded = await endProcess(state.pid, [
      { signal: 'SIGINT', waitMs: 10_000, target: 'process' },
      { signal: 'SIGQUIT', waitMs: 5_000, target: 'process' },
    ])
    if (!hasEnded) throw new StackFailure([`PostgreSQL of an earlier start (process ${state.pid}) does not stop.`])
  }
  // Backends may outlive their server. If their shared memory still exists, the next server refuses to start.
  rmSync(join(data, 'postmaster.pid'), { force: true })
}

/** Returns the state of the server of this data, or `undefined` if there is no pid file. */
export function findServerState(data: string): ServerState | undefined {
  try {
    const lines = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
    const pid = Number(lines[0])
    return Number.isInteger(pid) && pid > 0 ? { pid, isReady: lines[7]?.trim() === 'ready' } : undefined
  } catch {
    return undefined
  }
}
