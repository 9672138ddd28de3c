import type { Command } from 'commander'
import { ConfigError } from '../config/config-error.ts'
import { printable } from './printable.ts'

const FAILURE = 1
const USAGE = 2
/** The exit status for a program that a signal has ended, as in a shell: 128 and the number of the signal. */
const SIGNALLED = { SIGINT: 130, SIGTERM: 143 } as const
/** The number of SIGPIPE, which Node.js turns into an error of the stream. */
const READER_GONE = 141

const SERVE = 'serve'

/** The commands of a service: `serve`, which runs when none is named, and all others. */
export interface Commands {
  /** Runs the service. This is the default command. */
  readonly serve: () => Promise<void>
  /** Loads the table of the other commands only when one is needed, so that a start of the service does not wait for it. */
  readonly loadOthers: () => Promise<CommandLoaders>
}

/** Makes commands by their names. Each loads its own modules: to load those of all commands takes longer than most runs. */
export type CommandLoaders = Readonly<Record<string, () => Promise<Command>>>

/** What a command line needs of a process: its arguments, its signals, its output and its end. */
export interface CommandProcess {
  readonly argv: readonly string[]
  readonly stdout: { on(event: 'error', listener: (error: Error) => void): unknown }
  readonly stderr: { write(text: string): unknown }
  once(signal: NodeJS.Signals, listener: () => void): unknown
  exit(status: number): never
}

/**
 * Runs a command of a service. Errors go to stderr, one line each. The exit status is 1 for a failure, 2 for wrong usage and
 * 141 when the output is no longer read.
 */
export async function runCommandLine(
  program: Command,
  process: CommandProcess,
  { serve, loadOthers }: Commands,
): Promise<void> {
  // Without a listener, the first process of a container ignores these signals. A server replaces the listeners with its own.
  process.once('SIGINT', () => process.exit(SIGNALLED.SIGINT))
  process.once('SIGTERM', () => process.exit(SIGNALLED.SIGTERM))
  program.command(SERVE, { isDefault: true }).description('run the HTTP service (also without a command)').action(serve)
  const [word = SERVE] = process.argv.slice(2)
  if (word !== SERVE) {
    process.stdout.on('error', (error: Error) => exitWhenOutputFails(process, error))
    for (const command of await loadCommands(await loadOthers(), word)) program.addCommand(command)
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

/** Every command, with all modules that commands load. */
export function loadAll(loaders: CommandLoaders): readonly Promise<Command>[] {
  return Object.values(loaders).map((load) => load())
}

/** The command that is called, or all commands: for `--help`, after an option, and for a name that none has. */
function loadCommands(loaders: CommandLoaders, called: string): Promise<readonly Command[]> {
  const load = Object.hasOwn(loaders, called) ? loaders[called] : undefined
  return Promise.all(load ? [load()] : loadAll(loaders))
}

/** Ends a command whose output is no longer read: `head` has its lines, or the disk is full. */
function exitWhenOutputFails(process: CommandProcess, error: Error): void {
  if ('code' in error && error.code === 'EPIPE') process.exit(READER_GONE)
  process.stderr.write(`${describeFailure(error)}\n`)
  process.exit(FAILURE)
}

/** One line for each problem, without a stack, for the operator at the terminal. */
export function describeFailure(error: unknown): string {
  if (error instanceof ConfigError) return error.message
  if (error instanceof AggregateError && error.errors.length > 0) return describeFailure(error.errors[0])
  return printable(error instanceof Error ? error.message.replaceAll('\n', ' ') : String(error))
}

function isCommanderError(error: unknown): error is { readonly exitCode: number } {
  return error instanceof Error && 'exitCode' in error && 'code' in error && String(error.code).startsWith('commander.')
}
