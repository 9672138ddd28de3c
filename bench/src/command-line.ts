import { type Command, InvalidArgumentError } from 'commander'

/** The value of an option. @throws InvalidArgumentError for anything but a whole number from 1 to 2^31 - 1 */
export function positiveInteger(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && value > 0 && value <= INTEGER_MAX) return value
  throw new InvalidArgumentError('Not a whole number above 0.')
}

const INTEGER_MAX = 0x7fffffff

/** Runs the program. An error goes to standard error, and makes the exit status 1. */
export async function runCommand(command: Command): Promise<void> {
  try {
    await command.parseAsync()
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}
