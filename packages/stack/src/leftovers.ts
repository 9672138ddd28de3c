import { join } from 'node:path'
import { endProcess } from './processes/end-process.ts'
import { claimPidFile, findRunning, type PidRecord, releasePidFile } from './processes/pid-file.ts'
import { StackFailure } from './stack-failure.ts'

const leftoverSteps = [
  { signal: 'SIGTERM', waitMs: 3_000, target: 'process' },
  { signal: 'SIGKILL', waitMs: 1_000, target: 'group' },
] as const

/**
 * Makes this process the only stack of the data directory, and returns how to give that up.
 *
 * @throws {StackFailure} when another one runs.
 */
export async function claimStack(runDirectory: string, self: PidRecord): Promise<() => void> {
  const file = join(runDirectory, 'stack.pid')
  // The second attempt follows the removal of a file that a killed stack left.
  for (let attempt = 0; attempt < 2; attempt += 1) {
    if (claimPidFile(file, self)) return () => releasePidFile(file, self.pid)
    const other = await findRunning(file)
    if (other) throw new StackFailure([`Trestle is already running here (process ${other.pid}). Stop that first.`])
    releasePidFile(file)
  }
  throw new StackFailure(['Another start of Trestle is under way here.'])
}

/** Ends the services that an earlier, killed stack left running: those of the pid files, if they still are the same. */
export async function endLeftoverServices(pidFiles: readonly string[], say: (line: string) => void): Promise<void> {
  await Promise.all(
    pidFiles.map(async (file) => {
      const record = await findRunning(file)
      if (record) {
        say(`Ending process ${record.pid} of an earlier start`)
        await endProcess(record.pid, leftoverSteps)
      }
      releasePidFile(file)
    }),
  )
}
