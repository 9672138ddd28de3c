import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { findCommandLine } from './process-identity.ts'

/** What a pid file says: a process, and a text that its command line holds (the absolute path of its program). */
export interface PidRecord {
  readonly pid: number
  readonly program: string
}

/** Writes the file anew, as one step for readers. */
export function writePidFile(file: string, record: PidRecord): void {
  rmSync(file, { force: true })
  claimPidFile(file, record)
}

/**
 * Writes the file unless there is one, and says whether it did. Two processes that claim at once cannot both succeed,
 * and neither ever reads a half-written file: the text is complete before it gets its name.
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

/** The record of a process that still runs and is the one that was written down; undefined in every other case. */
export async function findRunning(file: string): Promise<PidRecord | undefined> {
  const record = readPidFile(file)
  if (record === undefined) return undefined
  const commandLine = await findCommandLine(record.pid)
  // The system gives ids out again: an id alone says nothing after a crash.
  return commandLine?.includes(record.program) ? record : undefined
}

/** Removes the file; with a pid only when it is about that process. */
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
