import { spawn } from 'node:child_process'
import { closeSync, existsSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { StackFailure } from '../stack-failure.ts'
import { type EndStep, releasePidFile, sendSignal, writePidFile } from './process-identity.ts'

/** The program to run, and the files of its output and its process id. */
export interface ChildCommand {
  /** The name in messages, for example `auth`. */
  readonly name: string
  readonly program: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  readonly logFile: string
  /** Undefined for a program that writes one itself. */
  readonly pidFile?: { readonly file: string; readonly program: string }
  /** The user to run as. Undefined: the user of this process. */
  readonly account?: { readonly uid: number; readonly gid: number }
}

/** How a process ended: with an exit status, or by a signal. */
export interface ChildEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The last lines that it wrote. */
  readonly tail: readonly string[]
}

/** How a process ended, in a message: `SIGKILL`, `exit status 1`. */
export function reasonOf({ code, signal }: Pick<ChildEnd, 'code' | 'signal'>): string {
  return signal ?? `exit status ${code}`
}

/** A running process of the stack. */
export interface Child {
  readonly name: string
  readonly pid: number
  readonly ended: Promise<ChildEnd>
  /** The last lines that it has written since its start. */
  output(): readonly string[]
  /** Sends signals step by step until the process has ended. It may be called at any time, also twice. */
  end(steps: readonly EndStep[]): Promise<void>
}

/** Node.js prints an uncaught error in nine lines, beside the frames of its own modules. */
const TAIL_LINES = 12
/** More than a service writes at its start. */
const START_LINES = 1_000

/**
 * Starts a process in a process group of its own. So a Ctrl-C at the terminal reaches only the stack, which then stops
 * everything in order.
 * @throws Error when the program cannot be run
 */
export async function startChild(command: ChildCommand): Promise<Child> {
  const log = openLog(command.logFile)
  const child = forOwnerAlone(() =>
    spawn(command.program, command.args, {
      cwd: command.cwd,
      env: command.env,
      detached: true,
      stdio: ['ignore', log.descriptor, log.descriptor],
      ...command.account,
    }),
  )
  closeSync(log.descriptor)
  const pid = await new Promise<number>((resolve, reject) => {
    child.once('spawn', () => resolve(child.pid ?? 0))
    child.once('error', reject)
  })
  if (command.pidFile) writePidFile(command.pidFile.file, { pid, program: command.pidFile.program })
  const ended = new Promise<ChildEnd>((resolve) => {
    child.once('exit', (code, signal) => {
      if (command.pidFile) releasePidFile(command.pidFile.file, pid)
      resolve({ code, signal, tail: tailOf(log, TAIL_LINES) })
    })
  })
  return {
    name: command.name,
    pid,
    ended,
    output: () => tailOf(log, START_LINES),
    end: (steps) => endChild(pid, ended, steps),
  }
}

/** Starts what makes files that no other account reads, such as a log of its own. */
function forOwnerAlone<T>(start: () => T): T {
  const earlier = process.umask(0o077)
  try {
    return start()
  } finally {
    process.umask(earlier)
  }
}

async function endChild(pid: number, ended: Promise<ChildEnd>, steps: readonly EndStep[]): Promise<void> {
  for (const step of steps) {
    if (await endsWithin(ended, 0)) break
    sendSignal(pid, step)
    if (await endsWithin(ended, step.waitMs)) break
  }
  // Processes that it has started must not outlive it.
  sendSignal(pid, { signal: 'SIGKILL', target: 'group' })
}

async function endsWithin(ended: Promise<ChildEnd>, waitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), waitMs)
  })
  try {
    return await Promise.race([ended.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}

function tailOf(log: OpenLog, lineLimit: number): readonly string[] {
  try {
    return readTail(log, lineLimit)
  } catch {
    // A log that was moved away must not hide how the process ended.
    return []
  }
}

/** A larger log of earlier starts is renamed, so that the logs of a service take at most two such files. */
const ROTATE_BYTES = 32 * 1024 * 1024
const TAIL_BYTES = 16 * 1024

/** An open log of a child process, and its size before. */
interface OpenLog {
  readonly file: string
  readonly descriptor: number
  readonly startBytes: number
}

/**
 * Opens a log for appending. A large log of earlier starts becomes `<file>.old`.
 * @throws StackFailure when its folder is gone
 */
function openLog(file: string): OpenLog {
  if (!existsSync(dirname(file)))
    throw new StackFailure([`${dirname(file)} was removed while the stack ran. Stop it first, then start it again.`])
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > ROTATE_BYTES) renameSync(file, `${file}.old`)
  const descriptor = openSync(file, 'a', 0o600)
  return { file, descriptor, startBytes: fstatSync(descriptor).size }
}

/**
 * The last lines that were written since the log was opened, at most `lineLimit`, without empty lines and without the frames of
 * modules of Node.js.
 */
function readTail(log: Omit<OpenLog, 'descriptor'>, lineLimit: number): readonly string[] {
  const descriptor = openSync(log.file, 'r')
  try {
    const size = fstatSync(descriptor).size
    const from = Math.max(log.startBytes, size - TAIL_BYTES)
    const buffer = Buffer.alloc(Math.max(0, size - from))
    readSync(descriptor, buffer, 0, buffer.length, from)
    const lines = buffer.toString('utf8').split('\n')
    return lines.filter((line) => line.trim() !== '' && !/^ +at .*\(?node:/.test(line)).slice(-lineLimit)
  } finally {
    closeSync(descriptor)
  }
}
