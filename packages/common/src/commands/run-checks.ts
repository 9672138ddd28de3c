import { describeFailure } from '../lifecycle/command-line.ts'
import { printable } from '../lifecycle/printable.ts'

/** A check of the command `doctor`. It returns a line to print, or throws an error that describes the problem. */
export interface Check<Subject> {
  readonly name: string
  readonly advice: string
  /** Names of earlier checks. This check does not run if the subject of one of them is unavailable. */
  readonly needs?: readonly string[]
  /** Returns the result to print. @throws Error if the service could not start in this state */
  readonly run: (subject: Subject) => Promise<string>
}

/** Thrown by a check whose subject does not answer. Checks that need this check do not run. */
export class Unavailable extends Error {}

type Print = (line: string) => void

/**
 * Runs the checks one after the other, and prints a line for each. If a subject is unavailable, its line names the checks that
 * need it and are skipped. @returns `false` if a check fails
 */
export async function runChecks<Subject>(
  checks: readonly Check<Subject>[],
  subject: Subject,
  print: Print,
): Promise<boolean> {
  let isHealthy = true
  const away = new Set<string>()
  for (const check of checks) {
    const { name, advice, run, needs = [] } = check
    // Skip this check, because its advice would blame rows or settings that may be right.
    if (needs.some((need) => away.has(need))) continue
    try {
      print(`ok    ${name}: ${printable(await run(subject))}`)
    } catch (error) {
      isHealthy = false
      const skipped = error instanceof Unavailable ? `, so not checked: ${listDependent(checks, name)}` : ''
      if (error instanceof Unavailable) away.add(name)
      print(`wrong ${name}: ${describeFailure(error)}${skipped}; ${advice}`)
    }
  }
  return isHealthy
}

/** Reads the settings, and prints a line for each problem. Returns `undefined` if there is one, as no other check can run. */
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

function listDependent(checks: readonly Check<never>[], name: string): string {
  const dependent = checks.filter(({ needs = [] }) => needs.includes(name))
  return dependent.map((check) => check.name).join(', ')
}

/** Data from an external source, and the date of the copy. */
export interface DatedData {
  readonly name: string
  /** For example, `2026-11-29`. */
  readonly asOf: string
}

const YEAR_MS = 366 * 86_400_000

/** Returns the data that are older than a year, for `doctor` and for a nightly check. */
export function findOldData(data: readonly DatedData[], now: Date): readonly DatedData[] {
  return data.filter(({ asOf }) => now.getTime() - Date.parse(asOf) > YEAR_MS)
}
