import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { findMissing, tryLanguage } from './languages.ts'

const GENERATED = 'any: clients of three services are generated and compiled'
const DONE = 'any: the main jobs are done'
const succeed = async () => undefined
const fail = async () => Promise.reject(new Error('no module can be imported'))

it.each([
  ['says each step that succeeds', { generate: succeed, doJobs: succeed }, true, [GENERATED, DONE]],
  [
    'does no jobs with clients that are not sound',
    { generate: fail, doJobs: succeed },
    false,
    [`not so: ${GENERATED}\nno module can be imported`],
  ],
  [
    'fails when a job fails',
    { generate: succeed, doJobs: fail },
    false,
    [GENERATED, `not so: ${DONE}\nno module can be imported`],
  ],
  ['succeeds without jobs', { generate: succeed }, true, [GENERATED]],
])('tries a language, and %s', async (_title, steps, succeeded, lines) => {
  const said: string[] = []
  const language = { name: 'any', toolchains: [], ...steps }
  const result = await tryLanguage(language, { home: '/nowhere', env: {} }, (line) => said.push(line))
  expect([result, said]).toEqual([succeeded, lines])
})

it('names each toolchain that is not on the path or fails, once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trestle-toolchains-'))
  for (const [name, status] of [
    ['good', 0],
    ['old', 1],
  ] as const) {
    writeFileSync(join(folder, name), `#!/bin/sh\nexit ${status}\n`)
    chmodSync(join(folder, name), 0o755)
  }
  const named = (program: string) => ({ name: `a ${program} one`, program, args: ['--version'] })
  const toolchains = ['good', 'old', 'absent', 'absent'].map(named)
  expect(await findMissing(toolchains, folder)).toEqual(['a old one', 'a absent one'])
})
