// Breaks the rules of `mutations.yaml`, one at a time, and runs the test that must detect it: `node scripts/mutations.ts`. Each
// test must pass without the mutation. With it, a test of the file must fail. A file that cannot be imported or set up, for
// example without a database, proves nothing. Exits with 1 if a rule is missed. Start with a clean checkout. Each file is
// restored, even after Ctrl-C, but not after `kill -9`.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'

const Mutation = z.strictObject({
  breaks: z.string(),
  file: z.string(),
  text: z.string(),
  replacement: z.string(),
  test: z.string(),
})

/** The mutations, each with the test that must detect it. */
export const mutations: readonly z.infer<typeof Mutation>[] = z
  .array(Mutation)
  .parse(parse(readFileSync(join(import.meta.dirname, 'mutations.yaml'), 'utf8')))

/** The used part of vitest's JSON report. */
const REPORT = z.object({
  success: z.boolean(),
  testResults: z.array(
    z.object({
      /** The error of the file itself, such as a failed import or set-up, or an empty string. */
      message: z.string(),
      assertionResults: z.array(z.object({ status: z.string() })),
    }),
  ),
})

/** The part of a test run that determines the verdict. */
export type TestReport = z.infer<typeof REPORT>

/** `unusable`: the test also fails without the mutation, or its set-up fails. */
export type Verdict = 'caught' | 'MISSED' | 'unusable'

/**
 * @param unbroken the run without the mutation
 * @param broken the run with the mutation; `undefined` if it was not started or wrote no report
 */
export function judge(unbroken: TestReport | undefined, broken: TestReport | undefined): Verdict {
  if (!passes(unbroken) || broken === undefined) return 'unusable'
  if (passes(broken)) return 'MISSED'
  const isSetUp = broken.testResults.every(({ message }) => message === '')
  const statuses = broken.testResults.flatMap(({ assertionResults }) => assertionResults.map(({ status }) => status))
  return isSetUp && statuses.includes('failed') ? 'caught' : 'unusable'
}

/** Whether at least one test ran and all passed. */
function passes(report: TestReport | undefined): boolean {
  if (!report?.success) return false
  return report.testResults.some(({ assertionResults }) => assertionResults.some(({ status }) => status === 'passed'))
}

/** @returns `undefined` if vitest ended without a report, as it does without a database */
function runTest(root: string, folder: string, test: string): TestReport | undefined {
  const file = join(folder, 'report.json')
  rmSync(file, { force: true })
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', test, '--reporter=json', `--outputFile=${file}`]
  spawnSync(process.execPath, args, { cwd: root, stdio: 'ignore' })
  return existsSync(file) ? REPORT.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined
}

function tryMutation(
  root: string,
  folder: string,
  { file, text, replacement, test }: z.infer<typeof Mutation>,
): Verdict {
  const unbroken = runTest(root, folder, test)
  if (!passes(unbroken)) return 'unusable'
  const path = join(root, file)
  const original = readFileSync(path, 'utf8')
  try {
    writeFileSync(path, original.replace(text, replacement))
    return judge(unbroken, runTest(root, folder, test))
  } finally {
    writeFileSync(path, original)
  }
}

if (import.meta.main) {
  // Ctrl-C also ends the test, and then the file is restored.
  process.on('SIGINT', () => process.exit(130))
  const folder = mkdtempSync(join(tmpdir(), 'trestle-mutations-'))
  process.on('exit', () => rmSync(folder, { recursive: true }))
  for (const mutation of mutations) {
    const verdict = tryMutation(join(import.meta.dirname, '..'), folder, mutation)
    console.log(`${verdict}  ${mutation.breaks} (${mutation.test})`)
    if (verdict !== 'caught') process.exitCode = 1
  }
}
