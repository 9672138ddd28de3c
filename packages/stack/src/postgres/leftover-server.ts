import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { endProcess } from '../processes/end-process.ts'
import { findCommandLine } from '../processes/process-identity.ts'
import { StackFailure } from '../stack-failure.ts'

/** The first lines of `postmaster.pid`, which a running server writes into its data directory. */
export interface ServerState {
  readonly pid: number
  /** Whether it accepts connections: line 8 of the file. */
  readonly isReady: boolean
}

/**
 * Stops a server that a killed stack left running on this data, and removes the pid file of a server that is gone. PostgreSQL
 * removes such a file itself, unless another process has got the id since.
 *
 * @throws StackFailure when the server does not stop
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
  // Backends may outlive their server. The next server finds their shared memory and refuses to start.
  rmSync(join(data, 'postmaster.pid'), { force: true })
}

/** The state of the server of this data. Undefined when there is no pid file. */
export function findServerState(data: string): ServerState | undefined {
  try {
    const lines = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
    const pid = Number(lines[0])
    return Number.isInteger(pid) && pid > 0 ? { pid, isReady: lines[7]?.trim() === 'ready' } : undefined
  } catch {
    return undefined
  }
}
