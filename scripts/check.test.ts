import { tmpdir } from 'node:os'
import { expect, it } from 'vitest'
import { countTests, runStep } from './check.ts'

const run = (code: string) => runStep({ name: 'step', command: process.execPath, args: ['-e', code] }, tmpdir())

it('passes with status 0 and keeps what was printed', async () => {
  const { name, passed, output, seconds } = await run('console.log("out"); console.error("err")')
  expect({ name, passed, lines: output.trim().split('\n').sort() }).toEqual({
    name: 'step',
    passed: true,
    lines: ['err', 'out'],
  })
  expect(seconds).toBeGreaterThan(0)
})

it('fails with another status', async () => {
  const { passed, output } = await run('console.log("why"); process.exit(3)')
  expect([passed, output]).toEqual([false, 'why\n'])
})

it('fails when the program is ended by a signal', async () => {
  const { passed, output } = await run('process.kill(process.pid, "SIGKILL")')
  expect([passed, output]).toEqual([false, ''])
})

it('fails with the reason when the program is not there', async () => {
  const { passed, output } = await runStep({ name: 'step', command: '/nowhere/tool', args: [] }, tmpdir())
  expect([passed, output]).toEqual([false, expect.stringContaining('ENOENT')])
})

const report = (numPassedTests: number, numFailedTests: number) => JSON.stringify({ numPassedTests, numFailedTests })

it.each([
  ['all passed', report(7, 0), true, { passed: 7, failed: 0 }],
  ['some failed', report(5, 2), false, { passed: 5, failed: 2 }],
  ['no test failed but the run did', report(7, 0), false, { passed: 7, failed: 1 }],
  ['no report', '', false, { passed: 0, failed: 1 }],
])('counts passed and failed tests, and a failed run as one failure: %s', (_case, text, passed, counts) => {
  expect(countTests(text, { passed })).toEqual(counts)
})

it('refuses a report of another shape', () => {
  expect(() => countTests('{"tests":1}', { passed: true })).toThrow(/"path": \[\s+"numPassedTests"/)
})
