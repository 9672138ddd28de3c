import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { expect, it } from 'vitest'
import { describeRun, judgeAdopted, type Outcomes, readOutcomes } from './adopted-databases.ts'

removeFoldersAtEnd()

/** A vitest report with the tests of one file. */
function report(status: string, ...tests: readonly (readonly [title: string, status: string])[]): Outcomes {
  const path = join(createFolder(), 'report.json')
  const assertionResults = tests.map(([fullName, outcome]) => ({ fullName, status: outcome }))
  writeFileSync(path, JSON.stringify({ testResults: [{ name: '/root/a.test.ts', status, assertionResults }] }))
  return readOutcomes(path, '/root')
}

const LISTED = { 'a.test.ts': { other: 'says something else' } }

it('accepts the failures that are listed alone', () => {
  const run = report('failed', ['one', 'passed'], ['other', 'failed'])
  expect(judgeAdopted(run, LISTED)).toEqual([])
  expect(judgeAdopted(run, {})).toEqual(['fails on an adopted database: a.test.ts > other'])
})

it('refuses an entry whose test passes or does not exist, unless its file did not run', () => {
  const wrong = ['is listed but does not fail: a.test.ts > other']
  expect(judgeAdopted(report('passed', ['other', 'passed']), LISTED)).toEqual(wrong)
  expect(judgeAdopted(report('passed', ['one', 'passed']), LISTED)).toEqual(wrong)
  expect(judgeAdopted(new Map(), LISTED)).toEqual([])
})

it('takes a file that fails as a whole for a failure, and a title that fails once', () => {
  expect(judgeAdopted(report('failed', ['one', 'skipped']), {})).toEqual(['fails on an adopted database: a.test.ts'])
  const twice = report('failed', ['one', 'failed'], ['one', 'passed'])
  expect(judgeAdopted(twice, {})).toEqual(['fails on an adopted database: a.test.ts > one'])
})

it('accepts in the other profile what fails on a migrated database too, and counts it apart', () => {
  const run = report('failed', ['one', 'passed'], ['other', 'failed'], ['two', 'failed'])
  const baseline = report('failed', ['one', 'passed'], ['other', 'passed'], ['two', 'failed'])
  expect(judgeAdopted(run, {}, baseline)).toEqual(['fails on an adopted database: a.test.ts > other'])
  expect(describeRun(run, baseline)).toBe(
    '1 passed on adopted databases, 1 failed, and 1 others failed on migrated ones too',
  )
})
