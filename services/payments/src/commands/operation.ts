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

/** A group of operations: `payments app …`. Each takes `--json`. */
export function operationGroup(
  operator: Operator,
  name: string,
  description: string,
  operations: readonly Operation[],
): Command {
  // Before the commands below, which take it over: wrong words are told from failures by the exit code.
  const group = new Command(name).exitOverride().description(description)
  for (const operation of operations) {
    const command = group.command(operation.usage).description(operation.description)
    for (const [flags, text] of operation.options ?? []) command.option(flags, text)
    command.option('--json', 'print JSON').action(() => perform(operator, operation, command))
  }
  return group
}

async function perform({ open, print }: Operator, { run }: Operation, command: Command): Promise<void> {
  const { json, ...options } = command.opts<Record<string, unknown>>()
  const deps = await open()
  try {
    const answer = await run(deps, { words: command.processedArgs.flat().map(String), options })
    for (const line of printAnswer(answer, json === true ? 'json' : 'text')) print(line)
  } finally {
    await deps.close()
  }
}
