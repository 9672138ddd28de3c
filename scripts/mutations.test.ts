import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { judge, mutations, type TestReport } from './mutations.ts'

const root = join(import.meta.dirname, '..')

it.each(mutations)('finds its place once: $breaks', ({ file, text, replacement, test }) => {
  const source = readFileSync(join(root, file), 'utf8')
  expect(source.split(text)).toHaveLength(2)
  expect(source.replace(text, replacement)).not.toBe(source)
  expect(existsSync(join(root, test))).toBe(true)
})

it.each(['auth', 'payments', 'inventory'])('breaks at least three rules of %s', (service) => {
  const broken = mutations.filter(({ test }) => test.startsWith(`services/${service}/`))
  expect(broken.length).toBeGreaterThanOrEqual(3)
})

const PASSED = reportOf({ status: 'passed' })
const FAILED = reportOf({ status: 'failed' })

it.each<{ it: string; unbroken: TestReport | undefined; broken: TestReport | undefined; verdict: string }>([
  { it: 'a failed test', unbroken: PASSED, broken: FAILED, verdict: 'caught' },
  { it: 'a test that still passes', unbroken: PASSED, broken: PASSED, verdict: 'MISSED' },
  { it: 'a test that fails unbroken', unbroken: FAILED, broken: FAILED, verdict: 'unusable' },
  { it: 'a file without tests', unbroken: { success: true, testResults: [] }, broken: FAILED, verdict: 'unusable' },
  { it: 'an unbroken run without a report', unbroken: undefined, broken: FAILED, verdict: 'unusable' },
  { it: 'a broken run without a report', unbroken: PASSED, broken: undefined, verdict: 'unusable' },
  {
    it: 'a set-up that failed',
    unbroken: PASSED,
    broken: { success: false, testResults: [{ message: 'ECONNREFUSED', assertionResults: [{ status: 'skipped' }] }] },
    verdict: 'unusable',
  },
  {
    it: 'a clean-up that failed after a failed test',
    unbroken: PASSED,
    broken: { success: false, testResults: [{ message: 'ECONNRESET', assertionResults: [{ status: 'failed' }] }] },
    verdict: 'unusable',
  },
])('gives the verdict "$verdict" on $it', ({ unbroken, broken, verdict }) => {
  expect(judge(unbroken, broken)).toBe(verdict)
})

function reportOf({ status }: { readonly status: 'passed' | 'failed' }): TestReport {
  return { success: status === 'passed', testResults: [{ message: '', assertionResults: [{ status }] }] }
}
