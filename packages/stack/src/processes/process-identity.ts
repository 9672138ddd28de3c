import { execFile } from 'node:child_process'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { StackFailure } from '../stack-failure.ts'

/**
 * Returns the command line of a running process, with its arguments joined by spaces. Resolves to `undefined` if the process does
 * not exist or the system does not show its command line. Reads `/proc` if it exists, otherwise runs `ps`.
 */
export async function findCommandLine(pid: number): Promise<string | undefined> {
  if (!isAlive(pid)) return undefined
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ').trim() || undefined
  } catch {
    return await commandLineByPs(pid)
  }
}

/** Whether a process with this id runs, of any user. A zombie, which has ended, does not count. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
  return !isZombie(pid)
}

/** In a container whose first process does not wait for its children, ended processes stay as zombies. */
function isZombie(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, ''))
  } catch {
    return false
  }
}

/** On a system without `/proc` and `ps`, processes cannot be distinguished. No process then counts as a process of the stack. */
async function commandLineByPs(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)])
    return stdout.trim() || undefined
  } catch {
    return undefined
  }
}

/** The content of a pid file: a process id, and a part of the command line (the absolute path of the program). */
export interface PidRecord {
  readonly pid: number
  readonly program: string
}

/** Replaces the file. */
export function writePidFile(file: string, record: PidRecord): void {
  rmSync(file, { force: true })
  claimPidFile(file, record)
}

/**
 * Writes the file unless it exists. If two processes claim the file at the same time, only one succeeds. Neither reads an
 * incomplete file, because the file is renamed after it is complete.
 * @returns whether the file was written
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

/** Returns the record if the process is still running and is the same program, otherwise `undefined`. */
export async function findRunning(file: string): Promise<PidRecord | undefined> {
  const record = readPidFile(file)
  if (record === undefined) return undefined
  const commandLine = await findCommandLine(record.pid)
  // The system reuses process ids. So after a crash, the id does not identify the process.
  return commandLine?.includes(record.program) ? record : undefined
}

/** Removes the file. With a pid, removes it only if the file names that process. */
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

/** A signal, and the time in milliseconds to wait for the end of the process before the next signal. */
export interface EndStep {
  readonly signal: NodeJS.Signals
  readonly waitMs: number
  /** `group` also signals the child processes, if the process leads a process group. */
  readonly target: 'process' | 'group'
}

const POLL_MS = 20

/**
 * Ends a process by one signal after another. The process need not be a child of this process.
 *
 * @returns whether the process has ended
 * @throws StackFailure if the process belongs to another user
 */
export async function endProcess(pid: number, steps: readonly EndStep[]): Promise<boolean> {
  for (const step of steps) {
    sendSignal(pid, step)
    for (let waitedMs = 0; waitedMs < step.waitMs && isAlive(pid); waitedMs += POLL_MS) await delay(POLL_MS)
    if (!isAlive(pid)) return true
  }
  return !isAlive(pid)
}

/** Sends a signal. Does nothing if the process has already ended. @throws StackFailure if the process belongs to another user */
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
