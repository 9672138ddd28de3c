import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import { type Answer, type AnswerFormat, printAnswer, type Terminal } from './table.ts'

export interface Operator<Deps extends OpenDeps> {
  readonly open: () => Promise<Deps>
  readonly print: (line: string) => void
  readonly terminal?: Terminal | undefined
  /** Converts an error to one that explains the failure in terms of the service, if the service can add information. */
  readonly explain?: (error: unknown) => unknown
}

interface OpenDeps {
  readonly close: () => Promise<void>
}

/** One command of an operator, such as `payments apps hide <id>`. */
export interface OperatorCommand<Deps> {
  /** The word and the arguments as `--help` shows them, such as `hide <id>`. */
  readonly usage: string
  /** Whether the group runs this command if the operator gives no word. */
  readonly isDefault?: true
  readonly description: string
  /** The allowed values of arguments, by the argument's name in the usage. Any other value is a usage error. */
  readonly choices?: Readonly<Record<string, readonly string[]>>
  /** Options besides `--json`: an `Option`, or flags and a description (`['--name <name>', 'the name of the app']`). */
  readonly options?: readonly (Option | readonly [flags: string, description: string])[]
  /**
   * Runs the command. Resolves to the answer to print.
   * @throws Error with one line, for exit code 1
   */
  readonly run: (deps: Deps, input: CommandInput) => Promise<Answer>
}

export interface CommandInput {
  /** The arguments, in the order of the usage. Omitted arguments are missing at the end. */
  readonly words: readonly string[]
  readonly options: Readonly<Record<string, unknown>>
  /** The output format. A command always returns complete objects for `json`, but may shorten them for `text`. */
  readonly format: AnswerFormat
}

/** Creates a group of commands, such as `payments apps …`. */
export function commandGroup<Deps extends OpenDeps>(
  operator: Operator<Deps>,
  name: string,
  description: string,
  commands: readonly OperatorCommand<Deps>[],
): Command {
  const group = new Command(name).exitOverride().description(description)
  for (const command of commands)
    group.addCommand(toCommand(operator, command), { isDefault: command.isDefault ?? false })
  return group
}

/** Creates a single command, such as `payments prune`. It accepts `--json`. */
export function toCommand<Deps extends OpenDeps>(
  operator: Operator<Deps>,
  { usage, description, choices = {}, options = [], run }: OperatorCommand<Deps>,
): Command {
  const [name, ...words] = usage.split(' ')
  // `exitOverride` makes Commander throw usage errors. The program can then exit with another status than for a failure.
  const command = new Command(name).exitOverride().description(description)
  for (const word of words) command.addArgument(toArgument(word, choices, command))
  for (const option of options) {
    if ('flags' in option) command.addOption(option)
    else command.option(...option)
  }
  return command.option('--json', 'print one JSON document').action(() => perform(operator, run, command))
}

/** The error message does not show a refused word, because it may be a secret typed in the wrong place. */
function toArgument(word: string, choices: Readonly<Record<string, readonly string[]>>, command: Command): Argument {
  const argument = new Argument(word)
  const allowed = choices[argument.name()]
  if (allowed === undefined) return argument
  const problem = `error: argument '${argument.name()}' is invalid. Allowed choices are ${allowed.join(', ')}.`
  return argument.choices(allowed).argParser((value) => (allowed.includes(value) ? value : command.error(problem)))
}

async function perform<Deps extends OpenDeps>(
  { open, print, terminal, explain = (error) => error }: Operator<Deps>,
  run: OperatorCommand<Deps>['run'],
  command: Command,
): Promise<void> {
  const { json, ...options } = command.opts<Record<string, unknown>>()
  const format = json === true ? 'json' : 'text'
  const words = command.processedArgs.flat().filter((word) => word !== undefined)
  const deps = await open()
  try {
    const answer = await run(deps, { words: words.map(String), options, format })
    for (const line of printAnswer(answer, format, terminal)) print(line)
  } catch (error) {
    throw explain(error)
  } finally {
    await deps.close()
  }
}

/** The bounds of a number, and its default. */
interface NumberRange {
  /** The minimum. The default is 1. */
  readonly min?: number
  readonly max: number
  readonly usual?: number
}

/** Creates an option for a whole number, such as `--limit <rows>`. Any other text is a usage error. */
export function numberOption(flags: string, description: string, { min = 1, max, usual }: NumberRange): Option {
  const option = new Option(flags, description).argParser((text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (number >= min && number <= max) return number
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  })
  return usual === undefined ? option : option.default(usual)
}
