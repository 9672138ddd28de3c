import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { findCommandLine } from './process-identity.ts'

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
