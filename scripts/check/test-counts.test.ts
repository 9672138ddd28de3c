import { expect, it } from 'vitest'
import { countTests } from './test-counts.ts'

const report = (numPassedTests: number, numFailedTests: number) => JSON.stringify({ numPassedTests, numFailedTests })

it.each([
  ['all passed', report(7, 0), true, { passed: 7, failed: 0 }],
  ['some failed', report(5, 2), false, { passed: 5, failed: 2 }],
  ['no test failed but the run did', report(7, 0), false, { passed: 7, failed: 1 }],
  ['no report', '', false, { passed: 0, failed: 1 }],
])('%s', (_case, text, runPassed, counts) => {
  expect(countTests(text, runPassed)).toEqual(counts)
})

it('refuses a report of another shape', () => {
  expect(() => countTests('{"tests":1}', true)).toThrow()
})
