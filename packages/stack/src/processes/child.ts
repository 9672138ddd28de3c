import { spawn } from 'node:child_process'
import { closeSync, existsSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { StackFailure } from '../stack-failure.ts'
import { type EndStep, releasePidFile, sendSignal, writePidFile } from './process-identity.ts'

/** The program to run, and the files for its output and its process id. */
interface ChildCommand {
  readonly name: string
  readonly program: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  readonly logFile: string
  /** `undefined` if the program writes its own pid file. */
  readonly pidFile?: { readonly file: string; readonly program: string }
  /** The user to run as. If it is `undefined`, the process runs as the user of this process. */
  readonly account?: { readonly uid: number; readonly gid: number }
}

export interface ChildEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The last lines of the output. */
  readonly tail: readonly string[]
}

/** Formats how a process ended, for a message: `SIGKILL`, `exit status 1`. */
export function reasonOf({ code, signal }: Pick<ChildEnd, 'code' | 'signal'>): string {
  return signal ?? `exit status ${code}`
}

export interface Child {
  readonly name: string
  readonly pid: number
  readonly ended: Promise<ChildEnd>
  /** Returns the last lines of the output since the start. */
  output(): readonly string[]
  /** Sends one signal after another until the process has ended. It may be called at any time, and more than once. */
  end(steps: readonly EndStep[]): Promise<void>
}

/** Node.js prints an uncaught error in up to nine lines, not counting the frames of its own modules. */
const TAIL_LINES = 12
/** More lines than a service writes during its start. */
const START_LINES = 1_000

/**
 * Starts a process in its own process group. A Ctrl-C at the terminal then reaches only the stack, which stops everything in
 * order.
 * @throws Error if the program cannot be run
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

/** Calls a function with a umask that lets only the owner read new files, such as the log of a program. */
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
  // Kill the process group, because child processes must not outlive their parent.
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
    // If the log was moved away, still report how the process ended.
    return []
  }
}

/** A log that is larger than this is renamed at the next start. The logs of a service take at most two files of this size. */
const ROTATE_BYTES = 32 * 1024 * 1024
const TAIL_BYTES = 16 * 1024

interface OpenLog {
  readonly file: string
  readonly descriptor: number
  readonly startBytes: number
}

/**
 * Opens a log for appending. A large log of earlier starts is renamed to `<file>.old`.
 * @throws StackFailure if the folder of the log was removed
 */
function openLog(file: string): OpenLog {
  if (!existsSync(dirname(file)))
    throw new StackFailure([`${dirname(file)} was removed while the stack ran. Stop it first, then start it again.`])
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > ROTATE_BYTES) renameSync(file, `${file}.old`)
  const descriptor = openSync(file, 'a', 0o600)
  return { file, descriptor, startBytes: fstatSync(descriptor).size }
}

/**
 * Returns the last lines written since the log was opened, at most `lineLimit`. Omits empty lines and stack frames of Node.js
 * modules.
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

interface SuperviseOptions {
  /** Starts the process again. The first process is already running. */
  readonly start: () => Promise<Child>
  readonly endSteps: readonly EndStep[]
  /** Called when the process has ended on its own and is about to start again. */
  readonly onEnd: (name: string, end: ChildEnd) => void
  readonly restartDelayMs?: number
}

/** A process that is kept running until `end`. */
export interface Supervised {
  /** Never resolves. Rejects if the process ends too often. */
  readonly failed: Promise<never>
  /** Ends the process without a restart. Resolves when the process has ended. */
  readonly end: () => Promise<void>
}

const RESTART_DELAY_MS = 500
/** The stack gives up after this many restarts without a quiet minute between them. */
const RESTARTS_MAX = 5
const QUIET_MS = 60_000

/** Returns a process that is started again if it ends on its own, for example after `kill -9`. */
export function supervise(first: Child, options: SuperviseOptions): Supervised {
  const ending = new AbortController()
  let child = first
  const keepRunning = async (): Promise<void> => {
    for (let restarts = 0; ; restarts += 1) {
      if (await isQuiet(child, ending.signal)) restarts = 0
      const end = await child.ended
      if (ending.signal.aborted) return
      if (restarts >= RESTARTS_MAX) {
        throw new StackFailure([`${child.name} has ended too often (the last time: ${reasonOf(end)}).`])
      }
      options.onEnd(child.name, end)
      await delay(options.restartDelayMs ?? RESTART_DELAY_MS, undefined, { signal: ending.signal }).catch(
        () => undefined,
      )
      if (ending.signal.aborted) return
      child = await options.start()
      // `end` was called during the start and could not know the new process.
      if (ending.signal.aborted) return await child.end(options.endSteps)
    }
  }
  const running = keepRunning()
  const failed = running.then(() => new Promise<never>(() => undefined))
  // The caller awaits this promise only when everything is running. Until then a rejection must not count as unhandled.
  failed.catch(() => undefined)
  return {
    failed,
    end: async (): Promise<void> => {
      ending.abort()
      await child.end(options.endSteps)
      await running.catch(() => undefined)
    },
  }
}

/** @returns `false` if the process ends, or is being ended, before it has run for a minute */
async function isQuiet(child: Child, ending: AbortSignal): Promise<boolean> {
  const quiet = delay(QUIET_MS, true, { signal: ending, ref: false }).catch(() => false)
  return await Promise.race([child.ended.then(() => false), quiet])
}
