import { Command } from 'commander'
import type { OperatorDeps } from '../deps.ts'
import { printAnswer } from './print-answer.ts'

/** How the operator's commands reach the service's data, and where they write. */
export interface Operator {
  readonly open: () => Promise<OperatorDeps>
  readonly print: (line: string) => void
}

/** One command of an operator, for example `payments app hide <id>`. */
export interface Operation {
  /** Its word and arguments, as `--help` shows them: `hide <id>`. */
  readonly usage: string
  readonly description: string
  /** Flags beside `--json`, with their descriptions: `['--name <name>', 'what the app is called']`. */
  readonly options?: readonly (readonly [flags: string, description: string])[]
  /** Does it, and answers what is printed. @throws Error in one line, for exit code 1 */
  readonly run: (deps: OperatorDeps, input: OperationInput) => Promise<object>
}

/** What was written on the command line. */
export interface OperationInput {
  /** In the order of the usage. */
  readonly words: readonly string[]
  readonly options: Readonly<Record<string, unknown>>
}

/** A group of operations: `payments app …`. */
export function operationGroup(
  operator: Operator,
  name: string,
  description: string,
  operations: readonly Operation[],
): Command {
  const group = new Command(name).exitOverride().description(description)
  for (const operation of operations) group.addCommand(operationCommand(operator, operation))
  return group
}

/** One operation: `payments prune`. It takes `--json`. */
export function operationCommand(operator: Operator, operation: Operation): Command {
  const [name, ...words] = operation.usage.split(' ')
  // Wrong words are told from failures by the exit code.
  const command = new Command(name).exitOverride().description(operation.description)
  for (const word of words) command.argument(word)
  for (const option of operation.options ?? []) command.option(...option)
  return command.option('--json', 'print JSON').action(() => perform(operator, operation, command))
}

async function perform({ open, print }: Operator, { run }: Operation, command: Command): Promise<void> {
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

/** Says which login a command needs where the database has refused the one that it has. */
export function explainRefusal(error: unknown): unknown {
  if (!(error instanceof Error && /^permission denied/.test(error.message))) return error
  return new Error('the login of the service may not do this: set PAYMENTS_MIGRATION_DATABASE_URL', { cause: error })
}
