import { execFile } from 'node:child_process'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { StackFailure } from '../stack-failure.ts'

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

/** The content of a pid file: a process id, and a text of its command line (the absolute path of its program). */
export interface PidRecord {
  readonly pid: number
  readonly program: string
}

/** Replaces the file in one step. */
export function writePidFile(file: string, record: PidRecord): void {
  rmSync(file, { force: true })
  claimPidFile(file, record)
}

/**
 * Writes the file unless it exists. Of two processes that claim it at once, only one succeeds, and neither reads an incomplete
 * file: the text is complete before the file gets its name.
 * @returns whether it was written
 */
export function claimPidFile(file: string, record: PidRecord): boolean {
  const draft = `${file}.${record.pid}`
  writeFileSync(draft, `${record.pid}\n${record.program}\n`)
  try {
    linkSync(draft, file)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

/** The record of the process, if it still runs and is the same process. Otherwise undefined. */
export async function findRunning(file: string): Promise<PidRecord | undefined> {
  const record = readPidFile(file)
  if (record === undefined) return undefined
  const commandLine = await findCommandLine(record.pid)
  // The system uses ids again: after a crash an id alone proves nothing.
  return commandLine?.includes(record.program) ? record : undefined
}

/** Removes the file. With a pid, only if the file names that process. */
export function releasePidFile(file: string, pid?: number): void {
  if (pid === undefined || readPidFile(file)?.pid === pid) rmSync(file, { force: true })
}

function readPidFile(file: string): PidRecord | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
  const [pid, program] = text.split('\n')
  if (pid === undefined || !/^[1-9]\d{0,9}$/.test(pid) || !program) return undefined
  return { pid: Number(pid), program }
}

/** A signal, and how long to wait for the end of the process before the next signal, in milliseconds. */
export interface EndStep {
  readonly signal: NodeJS.Signals
  readonly waitMs: number
  /** `group` also reaches the processes that it has started, if it leads a process group. */
  readonly target: 'process' | 'group'
}

const POLL_MS = 20

/**
 * Ends a process step by step, even if it is not a child of this one.
 *
 * @returns whether it has ended
 * @throws StackFailure when the process belongs to another user
 */
export async function endProcess(pid: number, steps: readonly EndStep[]): Promise<boolean> {
  for (const step of steps) {
    sendSignal(pid, step)
    for (let waitedMs = 0; waitedMs < step.waitMs && isAlive(pid); waitedMs += POLL_MS) await delay(POLL_MS)
    if (!isAlive(pid)) return true
  }
  return !isAlive(pid)
}

/** Sends a signal. A process that has ended already is no error. @throws StackFailure when it belongs to another user */
export function sendSignal(pid: number, { signal, target }: Omit<EndStep, 'waitMs'>): void {
  try {
    process.kill(target === 'group' ? -pid : pid, signal)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ESRCH') return
    if (code !== 'EPERM') throw error
    throw new StackFailure([`Process ${pid} belongs to another user. Stop it as that user.`], { cause: error })
  }
}
