import type { Command } from 'commander'
import { ConfigError } from '../config/config-error.ts'
import { printable } from './printable.ts'

const FAILURE = 1
const USAGE = 2
/** What a shell reports of a program that a signal has ended: 128 and the signal's number. */
const SIGNALLED = { SIGINT: 130, SIGTERM: 143 } as const
/** The same of SIGPIPE, which Node.js turns into an error of the stream. */
const READER_GONE = 141

const SERVE = 'serve'

/** What a service's program does. */
export interface Commands {
  /** Runs the service: what most processes are started for, and a program does without a word. */
  readonly serve: () => Promise<void>
  /** Makes the other commands: a start of the service waits for none of their files. */
  readonly loadOthers: () => Promise<readonly Command[]>
}

/** Runs a service's commands: errors go to stderr in one line each; exit code 1 for a failure, 2 for wrong usage, 141 when nobody reads on. */
export async function runCommandLine(
  program: Command,
  process: NodeJS.Process,
  { serve, loadOthers }: Commands,
): Promise<void> {
  // Without a listener the first process of a container would not hear them. A server puts its own in their place.
  for (const [signal, status] of Object.entries(SIGNALLED)) process.once(signal, () => process.exit(status))
  program.command(SERVE, { isDefault: true }).description('run the HTTP service (also without a command)').action(serve)
  const [word = SERVE] = process.argv.slice(2)
  if (word !== SERVE) {
    process.stdout.on('error', (error: Error) => exitUnheard(process, error))
    for (const command of await loadOthers()) program.addCommand(command)
  }
  program.exitOverride()
  for (const command of program.commands) command.exitOverride()
  try {
    await program.parseAsync(process.argv)
  } catch (error) {
    if (isCommanderError(error)) process.exit(error.exitCode === 0 ? 0 : USAGE)
    process.stderr.write(`${describeFailure(error)}\n`)
    process.exit(FAILURE)
  }
}

/** Ends a command whose answers nobody takes any more: `head` has its lines, or the disk is full. */
function exitUnheard(process: NodeJS.Process, error: Error): void {
  if ('code' in error && error.code === 'EPIPE') process.exit(READER_GONE)
  process.stderr.write(`${describeFailure(error)}\n`)
  process.exit(FAILURE)
}

/** One line a problem, without a stack: a person reads it at start. */
export function describeFailure(error: unknown): string {
  if (error instanceof ConfigError) return error.message
  if (error instanceof AggregateError && error.errors.length > 0) return describeFailure(error.errors[0])
  return printable(error instanceof Error ? error.message.replaceAll('\n', ' ') : String(error))
}

function isCommanderError(error: unknown): error is { readonly exitCode: number } {
  return error instanceof Error && 'exitCode' in error && 'code' in error && String(error.code).startsWith('commander.')
}
