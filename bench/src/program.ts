import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { closeAtSignal } from './servers/close-at-signal.ts'

export const ROOT = join(import.meta.dirname, '..', '..')

const INTEGER_MAX = 0x7fffffff

// Node.js prints a SuppressedError without the two errors in it. Only these say why a program ended.
process.on('uncaughtExceptionMonitor', (error) => {
  if (error instanceof SuppressedError) process.stderr.write(`${String(error.suppressed)}\n${String(error.error)}\n`)
})

export function say(line: string): void {
  process.stdout.write(`${line.trimEnd()}\n`)
}

/** Prints the problems, or a line if there are none. With problems, the exit status is 1. */
export function report(problems: Iterable<string>, success: string): void {
  const lines = [...problems]
  for (const line of lines) say(line)
  if (lines.length > 0) process.exitCode = 1
  else say(success)
}

/** Reads an option. @throws InvalidArgumentError unless it is a whole number from 1 to 2^31 - 1 */
export function positiveInteger(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value > 0 && value <= INTEGER_MAX) return value
  throw new InvalidArgumentError('Not a whole number above 0.')
}

/** Reads the first argument. @throws Error unless it is a whole number above 0 */
export function readCount(name: string, standard: number): number {
  const value = Number(process.argv[2] ?? standard)
  if (Number.isInteger(value) && value > 0) return value
  throw new Error(`the number of ${name} is a whole number above 0`)
}

/** Runs the program. Prints an error to standard error and sets the exit status 1. */
export async function runCommand(command: Command): Promise<void> {
  try {
    await command.parseAsync()
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}

/** Returns the seconds since a time of `performance.now()`, such as `1.5 s`. */
export function secondsSince(startMs: number): string {
  return inSeconds(performance.now() - startMs)
}

/** Returns milliseconds as seconds, such as `1.5 s`. */
export function inSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}

/** Runs a function in a number of rounds. @returns the milliseconds of each round */
export async function timesOf(rounds: number, act: () => Promise<unknown>): Promise<readonly number[]> {
  const times: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const startMs = performance.now()
    await act()
    times.push(performance.now() - startMs)
  }
  return times
}

export async function time<T>(step: string, work: () => Promise<T>): Promise<T> {
  const startMs = performance.now()
  const result = await work()
  say(`${step} in ${secondsSince(startMs)}`)
  return result
}

/** Creates an empty folder. If this process is root, PostgreSQL runs as another user, who may enter the folder. */
export function createBenchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'trestle-bench-'))
  chmodSync(folder, 0o711)
  closeAtSignal(async () => rmSync(folder, { recursive: true, force: true }))
  return folder
}
