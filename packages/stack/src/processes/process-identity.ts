import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/**
 * The command line of a live process, its parts joined by spaces; undefined when there is none with this id, or when
 * the system does not say. Read from `/proc` where that exists, else from `ps`.
 */
export async function findCommandLine(pid: number): Promise<string | undefined> {
  if (!isAlive(pid)) return undefined
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ').trim() || undefined
  } catch {
    return await commandLineByPs(pid)
  }
}

/** True while a process with this id runs, whoever owns it. One that has ended and waits for its parent does not run. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
  return !isZombie(pid)
}

/** In a container whose first process collects no children, the dead of an earlier start keep their ids for good. */
function isZombie(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, ''))
  } catch {
    return false
  }
}

/** A system with neither `/proc` nor `ps` cannot tell one process from another: none is then taken for ours. */
async function commandLineByPs(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)])
    return stdout.trim() || undefined
  } catch {
    return undefined
  }
}
