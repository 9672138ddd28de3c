import { describeFailure } from '../lifecycle/command-line.ts'
import { printable } from '../lifecycle/printable.ts'

/** A check of the command `doctor`: a line that it prints, or an error that says what is wrong. */
export interface Check<Subject> {
  readonly name: string
  readonly advice: string
  /** Names of earlier checks. The check does not run when one of them finds that its subject is unavailable. */
  readonly needs?: readonly string[]
  /** @returns what was found @throws Error when the service could not start with it */
  readonly run: (subject: Subject) => Promise<string>
}

/** Thrown by a check that finds that its subject does not answer. Checks that need it do not run. */
export class Unavailable extends Error {}

type Print = (line: string) => void

/**
 * Runs the checks one after the other, and prints a line for each. When the subject of a check is unavailable, its line names the checks
 * that need it. @returns false when one fails
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
    // The advice of such a check would send the operator to rows or settings that are right.
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

function listDependent(checks: readonly Check<never>[], name: string): string {
  const dependent = checks.filter(({ needs = [] }) => needs.includes(name))
  return dependent.map((check) => check.name).join(', ')
}

/** Data that others change, and the day since when they may have changed. */
export interface DatedData {
  readonly name: string
  /** `2026-11-29`. */
  readonly asOf: string
}

const YEAR_MS = 366 * 86_400_000

/** The data that are older than a year, for `doctor` and for a nightly check. */
export function findOldData(data: readonly DatedData[], now: Date): readonly DatedData[] {
  return data.filter(({ asOf }) => now.getTime() - Date.parse(asOf) > YEAR_MS)
}
