import { Command } from 'commander'
import { ConfigError, type EnvFile, findFileProblem } from '../config/environment.ts'
import { printable } from './printable.ts'

const FAILURE = 1
const USAGE = 2
/** The exit status for a program that a signal has ended, as in a shell: 128 and the number of the signal. */
const SIGNALLED = { SIGINT: 130, SIGTERM: 143 } as const
/** The exit status for SIGPIPE, which Node.js reports as an error of the stream. */
const READER_GONE = 141

const SERVE = 'serve'

interface Commands {
  /** Runs the service. This is the default command. */
  readonly serve: () => Promise<void>
  /** Loads the table of the other commands only when one is needed, so that a start of the service does not wait for it. */
  readonly loadOthers: () => Promise<CommandLoaders>
  /** The hints about commands that an operator may expect and that do not exist, by their names: `users`, `users ban`. */
  readonly insteadOf?: Instead
  /**
   * A better text for a failure of a command, on one line. Undefined for a failure whose own message says enough.
   * @param program its name, as in `auth`
   */
  readonly explainFailure?: (error: unknown, program: string) => string | undefined
}

type Instead = Readonly<Record<string, string>>

/**
 * Makes commands by their names. Each loads its own modules, because loading the modules of all commands takes longer than most
 * runs.
 */
export type CommandLoaders = Readonly<Record<string, () => Promise<Command>>>

/** The parts of a process that a command line needs: its arguments, its signals, its output and its end. */
interface CommandProcess {
  readonly argv: readonly string[]
  readonly stdout: { on(event: 'error', listener: (error: Error) => void): unknown; write(text: string): unknown }
  readonly stderr: { write(text: string): unknown }
  once(signal: NodeJS.Signals, listener: () => void): unknown
  exit(status: number): never
}

/** The name, the purpose and the version of a program, for `--help` and `--version`. `-c` is read by `configFile`. */
interface ProgramDescription {
  readonly name: string
  readonly description: string
  readonly version: string
}

/** A program that takes `-c FILE` and `--version`. */
export function createProgram({ name, description, version }: ProgramDescription): Command {
  return new Command(name)
    .description(description)
    .option('-c, --config <file>', 'read the settings from this env file instead of .env')
    .version(version)
}

/** The file that `-c` names, or else `.env` in the working directory, if it exists. */
export function configFile(program: Command): EnvFile {
  const { config } = program.opts<{ readonly config?: string }>()
  return { path: config ?? '.env', isRequired: config !== undefined }
}

/**
 * Runs a command of a service. Errors go to stderr, one line each. The exit status is 1 for a failure, 2 for wrong usage and
 * 141 when the output is no longer read.
 */
export async function runCommandLine(
  program: Command,
  process: CommandProcess,
  { serve, loadOthers, insteadOf = {}, explainFailure }: Commands,
): Promise<void> {
  // Without a listener, the first process of a container ignores these signals. A server replaces the listeners with its own.
  process.once('SIGINT', () => process.exit(SIGNALLED.SIGINT))
  process.once('SIGTERM', () => process.exit(SIGNALLED.SIGTERM))
  program.command(SERVE).description('run the HTTP service (also without a command)').action(serve)
  try {
    reportUsage(program, process, { insteadOf })
    const { called, words } = findCall(program, process.argv.slice(2))
    if (called !== SERVE) {
      process.stdout.on('error', (error: Error) => exitWhenOutputFails(process, error))
      await addCommands(program, await loadOthers(), called)
      reportUsage(program, process, { insteadOf })
    }
    await program.parseAsync(words, { from: 'user' })
  } catch (error) {
    if (isCommanderError(error)) process.exit(error.exitCode === 0 ? 0 : USAGE)
    process.stderr.write(`${explainFailure?.(error, program.name()) ?? describeFailure(error)}\n`)
    process.exit(FAILURE)
  }
}

/**
 * The command that words call, and the words that name it: `serve` when they name none, and undefined when they ask about the
 * program. Commander's default command would take the name of an unknown command as its argument.
 */
function findCall(
  program: Command,
  given: readonly string[],
): { readonly called: string | undefined; readonly words: readonly string[] } {
  const hasWord = (...wanted: readonly string[]) => given.some((word) => wanted.includes(word))
  // Commander prints the version as soon as it reads this option.
  const [named] = hasWord('--version', '-V') ? [] : program.parseOptions([...given]).operands
  if (named !== undefined) return { called: named, words: given }
  const isAboutProgram = hasWord('--version', '-V', '--help', '-h')
  return isAboutProgram ? { called: undefined, words: given } : { called: SERVE, words: [SERVE, ...given] }
}

/** Adds the command that is called, or all commands: for `--help`, and for a name that none has. */
async function addCommands(program: Command, loaders: CommandLoaders, called: string | undefined): Promise<void> {
  const load = called !== undefined && Object.hasOwn(loaders, called) ? loaders[called] : undefined
  for (const command of await Promise.all(load ? [load()] : loadAll(loaders))) program.addCommand(command)
  if (!load) await addCompletion(program)
}

/** Prints problems of usage on one line: what is wrong, and where to look. */
function reportUsage(
  command: Command,
  process: CommandProcess,
  { path = command.name(), insteadOf = {} }: { readonly path?: string; readonly insteadOf?: Instead },
): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => void process.stdout.write(text),
    writeErr: (text) => void process.stderr.write(text),
    outputError: (text, write) => write(`${describeUsage(text, { path, command, insteadOf })}\n`),
  })
  for (const child of command.commands) reportUsage(child, process, { path: `${path} ${child.name()}`, insteadOf })
}

/**
 * @param text as Commander has it: `error: unknown command 'usr'`, and perhaps a second line with a suggestion
 * @param path the program, and the group whose command is unknown
 */
function describeUsage(
  text: string,
  { path, command, insteadOf }: { readonly path: string; readonly command: Command; readonly insteadOf: Instead },
): string {
  const [problem = '', suggestion = ''] = text.trimEnd().split('\n')
  const [, meant] = /^\(Did you mean (.+)\)$/.exec(suggestion) ?? []
  const [, word = ''] = /^error: unknown command '(.+)'$/.exec(problem) ?? []
  const isOption = problem.startsWith('error: unknown option') && command.registeredArguments.length > 0
  const ended = isOption ? `put -- in front of a value that begins with -, or see ${path} --help` : `see ${path} --help`
  const help = meant === undefined ? ended : `did you mean ${meant}`
  const [, ...words] = [...path.split(' '), word]
  const expected = words.join(' ')
  const advice = Object.hasOwn(insteadOf, expected) ? `use ${insteadOf[expected]}` : help
  return printable(`${problem.replace(/^error: /, '').replace(/\.$/, '')}; ${advice}`)
}

/** Every command, with all modules that commands load. */
export function loadAll(loaders: CommandLoaders): readonly Promise<Command>[] {
  return Object.values(loaders).map((load) => load())
}

/** Ends a command whose output is no longer read: `head` has its lines, or the disk is full. */
function exitWhenOutputFails(process: CommandProcess, error: Error): void {
  if ('code' in error && error.code === 'EPIPE') process.exit(READER_GONE)
  process.stderr.write(`${describeFailure(error)}\n`)
  process.exit(FAILURE)
}

/** One line for each problem, without a stack, for the operator at the terminal. */
export function describeFailure(error: unknown): string {
  if (error instanceof ConfigError) return [error.message, ...(error.advice ? [error.advice] : [])].join('\n')
  if (error instanceof AggregateError && error.errors.length > 0) return describeFailure(error.errors[0])
  if (!(error instanceof Error)) return printable(String(error))
  const problem = 'path' in error ? findFileProblem(error) : undefined
  if ('path' in error && problem !== undefined) return printable(`${error.path}: ${problem}`)
  return printable(`${placeOfMistake(error)}${error.message.replaceAll('\n', ' ')}`)
}

/** File, line and kind of an error that only a change of our sources can cause; empty for other errors. */
function placeOfMistake(error: Error): string {
  const isMistake =
    error instanceof SyntaxError ||
    error instanceof ReferenceError ||
    (error instanceof TypeError && error.cause === undefined && !('code' in error))
  // Node.js writes the place of a syntax error above its message. The place of other errors is in the stack below their message.
  const [, above, below] =
    /^(?:file:\/\/)?(\/\S+:\d+)\n|^ +at (?:.* \()?file:\/\/(\/\S+:\d+):\d+/m.exec(error.stack ?? '') ?? []
  const place = above ?? (error instanceof SyntaxError ? undefined : below)
  return isMistake && place !== undefined ? `${place}: ${error.name}: ` : ''
}

function isCommanderError(error: unknown): error is { readonly exitCode: number } {
  return error instanceof Error && 'exitCode' in error && 'code' in error && String(error.code).startsWith('commander.')
}

/**
 * Adds `completion <shell>`, which prints a script for the shell, and the hidden command `complete`, which the script asks what
 * may follow.
 */
async function addCompletion(program: Command): Promise<void> {
  const { default: tab } = await import('@bomb.sh/tab/commander')
  tab(program, { completionCommandName: 'completion' })
}
