import { describeFailure } from '@trestle/common/lifecycle/command-line.ts'
import { printable } from '@trestle/common/lifecycle/printable.ts'

/** A check of the command `doctor`: a line that it prints, or an error that says what is wrong. */
export interface Check<Subject> {
  readonly name: string
  /** What to do when the check fails. */
  readonly advice: string
  /** Whether the check asks the database of the service. It does not run when the database does not answer. */
  readonly needsDatabase?: boolean
  /** @returns what was found @throws Error when the service could not start with it */
  readonly run: (subject: Subject) => Promise<string>
}

/** Thrown by a check that finds that the database does not answer. */
export class DatabaseAway extends Error {}

type Print = (line: string) => void

/**
 * Reads the settings, and prints a line for each problem. @returns undefined when there is one, since no other check can run
 */
export function checkSettings<Config>(load: () => Config, print: Print): Config | undefined {
  try {
    const config = load()
    print('ok    settings')
    return config
  } catch (error) {
    print(describeFailure(error))
    return undefined
  }
}

/**
 * Runs the checks one after the other, and prints a line for each. When the database does not answer, its line names the checks
 * that need it. @returns false when one fails
 */
export async function runChecks<Subject>(
  checks: readonly Check<Subject>[],
  subject: Subject,
  print: Print,
): Promise<boolean> {
  let isHealthy = true
  let isDatabaseAway = false
  const dependent = checks.filter(({ needsDatabase }) => needsDatabase)
  for (const check of checks) {
    // The advice of such a check would send the operator to rows or settings that are right.
    if (isDatabaseAway && dependent.includes(check)) continue
    const { name, advice, run } = check
    try {
      print(`ok    ${name}: ${printable(await run(subject))}`)
    } catch (error) {
      isHealthy = false
      isDatabaseAway ||= error instanceof DatabaseAway
      const skipped = error instanceof DatabaseAway ? `, so not checked: ${listNames(dependent)}` : ''
      print(`wrong ${name}: ${describeFailure(error)}${skipped}; ${advice}`)
    }
  }
  return isHealthy
}

function listNames(checks: readonly Check<never>[]): string {
  return checks.map(({ name }) => name).join(', ')
}
