import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/**
 * The command line of a running process, its parts joined by spaces. Undefined when there is no such process, or when the
 * system does not tell. Read from `/proc` if it exists, otherwise from `ps`.
 */
export async function findCommandLine(pid: number): Promise<string | undefined> {
  if (!isAlive(pid)) return undefined
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ').trim() || undefined
  } catch {
    return await commandLineByPs(pid)
  }
}

/** Whether a process with this id runs, of any user. A process that has ended and waits for its parent does not run. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
  return !isZombie(pid)
}

/** In a container whose first process does not wait for its children, the ids of ended processes stay in use. */
function isZombie(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, ''))
  } catch {
    return false
  }
}

/** A system without `/proc` and `ps` cannot tell one process from another. No process then counts as one of the stack. */
async function commandLineByPs(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)])
    return stdout.trim() || undefined
  } catch {
    return undefined
  }
}
