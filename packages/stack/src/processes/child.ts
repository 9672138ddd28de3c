import { spawn } from 'node:child_process'
import { closeSync, existsSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { StackFailure } from '../stack-failure.ts'
import { type EndStep, releasePidFile, sendSignal, writePidFile } from './process-identity.ts'

/** The program to run, and the files of its output and its process id. */
interface ChildCommand {
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

interface SuperviseOptions {
  /** Starts the process again. The first one is already running. */
  readonly start: () => Promise<Child>
  readonly endSteps: readonly EndStep[]
  /** Called whenever the process has ended by itself and is about to start again. */
  readonly onEnd: (name: string, end: ChildEnd) => void
  readonly restartDelayMs?: number
}

/** A process that is kept running until `end`. */
export interface Supervised {
  /** Never resolves. Rejects when the process ends too often. */
  readonly failed: Promise<never>
  /** Ends the process, which does not start again. Resolves when it has ended. */
  readonly end: () => Promise<void>
}

const RESTART_DELAY_MS = 500
/** After this many ends without a quiet minute in between, the stack gives up. */
const RESTARTS_MAX = 5
const QUIET_MS = 60_000

/** Returns a process that starts again when it ends by itself, for example after `kill -9`. */
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
      // `end` was called during the start, when it did not know the new process yet.
      if (ending.signal.aborted) return await child.end(options.endSteps)
    }
  }
  const running = keepRunning()
  const failed = running.then(() => new Promise<never>(() => undefined))
  // The caller awaits it only when everything is up. Until then a failure must not count as unhandled.
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

/** @returns false when the process ends, or is to end, before it has run for a while */
async function isQuiet(child: Child, ending: AbortSignal): Promise<boolean> {
  const quiet = delay(QUIET_MS, true, { signal: ending, ref: false }).catch(() => false)
  return await Promise.race([child.ended.then(() => false), quiet])
}
