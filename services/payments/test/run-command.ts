import { Command } from 'commander'
import type { z } from 'zod'
import type { Operator } from '../src/commands/operator-command.ts'
import type { OperatorDeps } from '../src/deps.ts'

/** Runs commands of an operator as they are typed. */
export interface CommandRunner {
  /** The lines that are printed. */
  run(...words: string[]): Promise<string[]>
  /** The same with --json, parsed. */
  json(...words: string[]): Promise<unknown>
  /** The same, read by a schema. @throws ZodError when the schema does not fit */
  readJson<Answer>(schema: z.ZodType<Answer>, ...words: string[]): Promise<Answer>
}

/** @param open called for each command */
export function commandRunner(
  commands: readonly ((operator: Operator) => Command)[],
  open: () => OperatorDeps,
): CommandRunner {
  const run = async (...words: string[]) => {
    const lines: string[] = []
    const program = new Command().exitOverride()
    const operator = { open: async () => open(), print: (line: string) => lines.push(line) }
    for (const command of commands) program.addCommand(command(operator))
    await program.parseAsync(words, { from: 'user' })
    return lines
  }
  const json = async (...words: string[]): Promise<unknown> => JSON.parse((await run(...words, '--json')).join('\n'))
  return { run, json, readJson: async (schema, ...words) => schema.parse(await json(...words)) }
}
