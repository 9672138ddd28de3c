// Breaks the rules of mutations.yaml, one at a time, and runs the test that must notice: `node scripts/mutations.ts`.
// Each test runs unbroken first and must pass. With the rule broken, a test of the file must fail: a file that cannot be imported
// or set up, as without a database, proves nothing about the rule. Exit status 1 when a rule is not caught. Each file is restored.
// Start with a clean checkout; Ctrl-C restores the file too, kill -9 does not.
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

/** The rules that are broken, and the test that must notice each. */
export const mutations: readonly z.infer<typeof Mutation>[] = z
  .array(Mutation)
  .parse(parse(readFileSync(join(import.meta.dirname, 'mutations.yaml'), 'utf8')))

/** The part of vitest's JSON that is read. */
const REPORT = z.object({
  success: z.boolean(),
  testResults: z.array(
    z.object({
      /** The error of the file itself, such as a failed import or set-up. Empty for none. */
      message: z.string(),
      assertionResults: z.array(z.object({ status: z.string() })),
    }),
  ),
})

/** A run of one test file, as far as its verdict needs it. */
export type TestReport = z.infer<typeof REPORT>

/** The verdict of the test on its rule. `unusable`: it fails without the mutation too, or its set-up fails. */
export type Verdict = 'caught' | 'MISSED' | 'unusable'

/**
 * @param unbroken the run without the mutation
 * @param broken the run with it; undefined where it was not started or wrote nothing
 */
export function judge(unbroken: TestReport | undefined, broken: TestReport | undefined): Verdict {
  if (!passes(unbroken) || broken === undefined) return 'unusable'
  if (passes(broken)) return 'MISSED'
  const isSetUp = broken.testResults.every(({ message }) => message === '')
  const statuses = broken.testResults.flatMap(({ assertionResults }) => assertionResults.map(({ status }) => status))
  return isSetUp && statuses.includes('failed') ? 'caught' : 'unusable'
}

/** Whether tests ran, and every one of them passed. */
function passes(report: TestReport | undefined): boolean {
  if (!report?.success) return false
  return report.testResults.some(({ assertionResults }) => assertionResults.some(({ status }) => status === 'passed'))
}

/** @returns undefined where vitest ended before it wrote its report, as it does without a database */
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
