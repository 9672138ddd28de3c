import { dirname } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { canTestWith } from './find-program.ts'

afterEach(() => vi.restoreAllMocks())

const missing = 'node is not installed: the tests that need it are skipped'

it.each([
  ['runs where the program is installed', { PATH: dirname(process.execPath) }, { runs: true, warnings: [] }],
  ['is skipped elsewhere, with a warning', { PATH: '/nowhere' }, { runs: false, warnings: [[missing]] }],
  [
    'runs elsewhere too, and so fails, where programs are required',
    { PATH: '/nowhere', TEST_PROGRAMS: 'required' },
    { runs: true, warnings: [] },
  ],
])('a test with a program %s', (_where, env, { runs, warnings }) => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  expect(canTestWith('node', env)).toBe(runs)
  expect(warn.mock.calls).toEqual(warnings)
})
