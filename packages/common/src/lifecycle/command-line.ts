import { Command } from 'commander'
import { ConfigError, type EnvFile, findFileProblem } from '../config/environment.ts'
import { printable } from './printable.ts'

const FAILURE = 1
const USAGE = 2
/** The exit status of a program that a signal has ended, as in a shell: 128 plus the number of the signal. */
const SIGNALLED = { SIGINT: 130, SIGTERM: 143 } as const
/** The exit status for SIGPIPE. Node.js reports SIGPIPE as an error of the stream. */
const READER_GONE = 141

const SERVE = 'serve'

interface Commands {
  /** Runs the service. This is the default command. */
  readonly serve: () => Promise<void>
  /** Loads the table of the other commands only if needed, so that it does not delay the start of the service. */
  readonly loadOthers: () => Promise<CommandLoaders>
  /** Hints for commands that an operator may expect but that do not exist, by name: `users`, `users ban`. */
  readonly insteadOf?: Instead
  /**
   * Returns a better text for a failure of a command, on one line. Returns `undefined` if the failure's own message is enough.
   * @param program the name of the program, such as `auth`
   */
  readonly explainFailure?: (error: unknown, program: string) => string | undefined
}

type Instead = Readonly<Record<string, string>>

/**
 * Functions that create commands, by name. Each function loads only its own modules, because loading the modules of all commands
 * takes longer than most runs.
 */
export type CommandLoaders = Readonly<Record<string, () => Promise<Command>>>

/** The parts of a process that a command line uses: arguments, signals, output and exit. */
interface CommandProcess {
  readonly argv: readonly string[]
  readonly stdout: { on(event: 'error', listener: (error: Error) => void): unknown; write(text: string): unknown }
  readonly stderr: { write(text: string): unknown }
  once(signal: NodeJS.Signals, listener: () => void): unknown
  exit(status: number): never
}

/** The name, the purpose and the version of a program, for `--help` and `--version`. */
interface ProgramDescription {
  readonly name: string
  readonly description: string
  readonly version: string
}

/** Creates a program with the options `-c FILE` and `--version`. `configFile` reads `-c`. */
export function createProgram({ name, description, version }: ProgramDescription): Command {
  return new Command(name)
    .description(description)
    .option('-c, --config <file>', 'read the settings from this env file instead of .env')
    .version(version)
}

/** Returns the file named by `-c`. Otherwise returns `.env` in the working directory, which may be missing. */
export function configFile(program: Command): EnvFile {
  const { config } = program.opts<{ readonly config?: string }>()
  return { path: config ?? '.env', isRequired: config !== undefined }
}

/**
 * Runs a command of a service. Errors go to stderr, one line each. The exit status is 1 for a failure, 2 for wrong usage, and 141
 * if the output is no longer read.
 */
export async function runCommandLine(
  program: Command,
  process: CommandProcess,
  { serve, loadOthers, insteadOf = {}, explainFailure }: Commands,
): Promise<void> {
  // Without a listener, the first process of a container ignores these signals. A server sets its own.
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
 * The called command and the words that call it: `serve` by default, and `undefined` for help or the version. Commander's default
 * command would take an unknown command name as its argument.
 */
function findCall(
  program: Command,
  given: readonly string[],
): { readonly called: string | undefined; readonly words: readonly string[] } {
  const hasWord = (...wanted: readonly string[]) => given.some((word) => wanted.includes(word))
  // Do not parse `--version` here: Commander prints the version as soon as it reads this option.
  const [named] = hasWord('--version', '-V') ? [] : program.parseOptions([...given]).operands
  if (named !== undefined) return { called: named, words: given }
  const isAboutProgram = hasWord('--version', '-V', '--help', '-h')
  return isAboutProgram ? { called: undefined, words: given } : { called: SERVE, words: [SERVE, ...given] }
}

/** Adds the called command. Adds all commands for `--help` and for an unknown command name. */
async function addCommands(program: Command, loaders: CommandLoaders, called: string | undefined): Promise<void> {
  const load = called !== undefined && Object.hasOwn(loaders, called) ? loaders[called] : undefined
  for (const command of await Promise.all(load ? [load()] : loadAll(loaders))) program.addCommand(command)
  if (!load) await addCompletion(program)
}

/** Makes Commander print usage problems on one line: the problem, and where to find help. */
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
 * @param text the text of Commander: `error: unknown command 'usr'`, and perhaps a second line with a suggestion
 * @param path the program, and the group in which the command is unknown
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

export function loadAll(loaders: CommandLoaders): readonly Promise<Command>[] {
  return Object.values(loaders).map((load) => load())
}

/** Ends a command if its output cannot be written: the reader (such as `head`) has ended, or the disk is full. */
function exitWhenOutputFails(process: CommandProcess, error: Error): void {
  if ('code' in error && error.code === 'EPIPE') process.exit(READER_GONE)
  process.stderr.write(`${describeFailure(error)}\n`)
  process.exit(FAILURE)
}

/** Describes an error for the operator at the terminal: one line for each problem, without a stack. */
export function describeFailure(error: unknown): string {
  if (error instanceof ConfigError) return [error.message, ...(error.advice ? [error.advice] : [])].join('\n')
  if (error instanceof AggregateError && error.errors.length > 0) return describeFailure(error.errors[0])
  if (!(error instanceof Error)) return printable(String(error))
  const problem = 'path' in error ? findFileProblem(error) : undefined
  if ('path' in error && problem !== undefined) return printable(`${error.path}: ${problem}`)
  return printable(`${placeOfMistake(error)}${error.message.replaceAll('\n', ' ')}`)
}

/** Returns the file, line and kind of an error that is a mistake in the source code. Returns an empty string for other errors. */
function placeOfMistake(error: Error): string {
  const isMistake =
    error instanceof SyntaxError ||
    error instanceof ReferenceError ||
    (error instanceof TypeError && error.cause === undefined && !('code' in error))
  // Node.js writes the place of a syntax error above the message, and others in the stack below it.
  const [, above, below] =
    /^(?:file:\/\/)?(\/\S+:\d+)\n|^ +at (?:.* \()?file:\/\/(\/\S+:\d+):\d+/m.exec(error.stack ?? '') ?? []
  const place = above ?? (error instanceof SyntaxError ? undefined : below)
  return isMistake && place !== undefined ? `${place}: ${error.name}: ` : ''
}

function isCommanderError(error: unknown): error is { readonly exitCode: number } {
  return error instanceof Error && 'exitCode' in error && 'code' in error && String(error.code).startsWith('commander.')
}

/**
 * Adds `completion <shell>`, which prints a completion script for the shell, and the hidden command `complete`. The script calls
 * `complete` to get the possible next words.
 */
async function addCompletion(program: Command): Promise<void> {
  const { default: tab } = await import('@bomb.sh/tab/commander')
  tab(program, { completionCommandName: 'completion' })
}
