import { describeFailure } from '@trestle/common/lifecycle/command-line.ts'
import { printable } from '@trestle/common/lifecycle/printable.ts'

/** A check of the command `doctor`: a line that it prints, or an error that says what is wrong. */
export interface Check<Subject> {
  readonly name: string
  /** What to do when the check fails. */
  readonly advice: string
  /** @returns what was found @throws Error when the service could not start with it */
  readonly run: (subject: Subject) => Promise<string>
}

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

/** Runs the checks one after the other, and prints a line for each. @returns false when one fails */
export async function runChecks<Subject>(
  checks: readonly Check<Subject>[],
  subject: Subject,
  print: Print,
): Promise<boolean> {
  let isHealthy = true
  for (const { name, advice, run } of checks) {
    try {
      print(`ok    ${name}: ${printable(await run(subject))}`)
    } catch (error) {
      isHealthy = false
      print(`wrong ${name}: ${describeFailure(error)}; ${advice}`)
    }
  }
  return isHealthy
}
