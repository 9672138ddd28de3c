import { describeFailure } from '@trestle/common/server/command-line.ts'
import { printable } from '@trestle/common/server/printable.ts'

/** Something that a service needs, for its command `doctor` to try. */
export interface Check<Subject> {
  readonly name: string
  /** What to do when the check fails. */
  readonly advice: string
  /** Resolves with what was found; throws when it is not good enough to start. */
  readonly run: (subject: Subject) => Promise<string>
}

type Print = (line: string) => void

/** Reads the settings and prints a line for each problem. Undefined when there is one: nothing else can be tried then. */
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

/** Runs all checks, one after the other and a line each. Resolves to false when something is wrong. */
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
