import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const Workflow = z.object({
  jobs: z.record(z.string(), z.object({ steps: z.array(z.object({ run: z.string().optional() })) })),
})

/** The commands of each job. */
function jobsOf(workflow: string): ReadonlyMap<string, readonly string[]> {
  const { jobs } = Workflow.parse(parse(read(`.github/workflows/${workflow}.yml`)))
  return new Map(Object.entries(jobs).map(([name, { steps }]) => [name, steps.flatMap(({ run }) => run?.trim() ?? [])]))
}

it('CI runs npm test, and nothing else for the tests', () => {
  expect(jobsOf('ci').get('test')).toEqual(['.ci/run'])
  const commands = read('.ci/run')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  expect(commands).toEqual(['set -euo pipefail', 'cd "$(dirname "$0")/.."', 'export CI=true', 'npm test </dev/null'])
})

it('npm test is npm run check with the tests', () => {
  const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')))
  expect([scripts.check, scripts.test]).toEqual(['node scripts/check.ts', 'node scripts/check.ts --with-tests'])
})

it('CONTRIBUTING names every other job of CI, and what it runs', () => {
  const jobs = ['ci', 'nightly'].flatMap((workflow) => [...jobsOf(workflow).keys()])
  const text = read('CONTRIBUTING.md')
  expect(jobs.filter((job) => job !== 'test' && !text.includes(`\`${job}\``))).toEqual([])
})
