import { Command } from 'commander'
import type { OperatorDeps } from '../deps.ts'
import { printAnswer } from './print-answer.ts'

/** How commands of operators open the service's data, and where they print. */
export interface Operator {
  readonly open: () => Promise<OperatorDeps>
  readonly print: (line: string) => void
}

/** One command of an operator, for example `payments app hide <id>`. */
export interface OperatorCommand {
  /** The word and the arguments, as `--help` shows them: `hide <id>`. */
  readonly usage: string
  readonly description: string
  /** Flags beside `--json`, with their descriptions: `['--name <name>', 'what the app is called']`. */
  readonly options?: readonly (readonly [flags: string, description: string])[]
  /**
   * Runs the command. Resolves to what is printed.
   * @throws Error with one line, for exit code 1
   */
  readonly run: (deps: OperatorDeps, input: CommandInput) => Promise<object>
}

/** The arguments and options of a call. */
export interface CommandInput {
  /** The arguments, in the order of the usage. */
  readonly words: readonly string[]
  readonly options: Readonly<Record<string, unknown>>
}

/** A group of commands, such as `payments app …`. */
export function commandGroup(
  operator: Operator,
  name: string,
  description: string,
  commands: readonly OperatorCommand[],
): Command {
  const group = new Command(name).exitOverride().description(description)
  for (const command of commands) group.addCommand(toCommand(operator, command))
  return group
}

/** A single command, such as `payments prune`. It takes `--json`. */
export function toCommand(operator: Operator, { usage, description, options = [], run }: OperatorCommand): Command {
  const [name, ...words] = usage.split(' ')
  // The exit code tells wrong arguments from failures.
  const command = new Command(name).exitOverride().description(description)
  for (const word of words) command.argument(word)
  for (const option of options) command.option(...option)
  return command.option('--json', 'print JSON').action(() => perform(operator, run, command))
}

async function perform({ open, print }: Operator, run: OperatorCommand['run'], command: Command): Promise<void> {
  const { json, ...options } = command.opts<Record<string, unknown>>()
  const deps = await open()
  try {
    const answer = await run(deps, { words: command.processedArgs.flat().map(String), options })
    for (const line of printAnswer(answer, json === true ? 'json' : 'text')) print(line)
  } catch (error) {
    throw explainRefusal(error)
  } finally {
    await deps.close()
  }
}

/** Explains a statement that PostgreSQL refused to the login, by the setting that a command needs. */
export function explainRefusal(error: unknown): unknown {
  if (!(error instanceof Error && /^permission denied/.test(error.message))) return error
  return new Error('the login of the service may not do this: set PAYMENTS_MIGRATION_DATABASE_URL', { cause: error })
}
