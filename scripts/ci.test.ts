import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const Workflow = z.object({
  on: z.record(z.string(), z.unknown()),
  jobs: z.record(z.string(), z.object({ steps: z.array(z.object({ run: z.string().optional() })) })),
})

const workflowOf = (name: string) => Workflow.parse(parse(read(`.github/workflows/${name}.yml`)))

function jobsOf(workflow: string): ReadonlyMap<string, readonly string[]> {
  const { jobs } = workflowOf(workflow)
  return new Map(Object.entries(jobs).map(([name, { steps }]) => [name, steps.flatMap(({ run }) => run?.trim() ?? [])]))
}

it('CI runs npm test, as README.md names it, then npm run check, and nothing else for the tests', () => {
  expect(read('README.md')).toMatch(/^npm test\b/m)
  expect(jobsOf('ci').get('test')).toEqual(['.ci/run'])
  const commands = read('.ci/run')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  expect(commands).toEqual([
    'set -euo pipefail',
    'cd "$(dirname "$0")/.."',
    'export CI=true',
    'npm test </dev/null',
    'npm run check </dev/null',
  ])
})

it('npm run check runs every test with their coverage beside the steps of npm run lint, npm test all but the long ones', () => {
  const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(read('package.json')))
  const { precheck, check, pretest, test, prelint, lint } = scripts
  expect({ precheck, check, pretest, test, prelint, lint }).toEqual({
    precheck: 'node scripts/install.mjs',
    check: 'node scripts/check.ts',
    pretest: 'node scripts/install.mjs',
    test: "vitest run --exclude '**/*.long.test.ts'",
    prelint: 'node scripts/install.mjs',
    lint: 'node scripts/check.ts --static',
  })
})

it('CI demands nothing of a change beside .ci/run', () => {
  const workflows = globSync('*.yml', { cwd: join(root, '.github/workflows') }).map((file) => basename(file, '.yml'))
  const demanded = workflows.filter((name) => 'pull_request' in workflowOf(name).on)
  expect(demanded).toEqual(['ci'])
  expect([...jobsOf('ci').keys()]).toEqual(['test'])
})

const setUp = [
  'node scripts/install.mjs',
  'sudo apt-get update && sudo apt-get install --yes haproxy pgbouncer prometheus redis-server systemd',
  'sudo ln --symbolic "$(command -v google-chrome)" /usr/local/bin/chromium',
]

it.each(['citus', 'images', 'nightly'])('each job of %s runs one command that a document names', (workflow) => {
  const text = `${read('CONTRIBUTING.md')}\n${read('docs/longer-runs.md')}`
  for (const [job, commands] of jobsOf(workflow)) {
    expect(text).toContain(`\`${job}\``)
    const [command = '', ...others] = commands.filter((each) => !setUp.includes(each))
    expect(others).toEqual([])
    // The table in the document has a service instead of the matrix variable, and `pnpm` instead of `npx pnpm@…`.
    const named = command.replace(/npx pnpm@[\d.]+/, 'pnpm').replaceAll(/\$\{\{ matrix\.service \}\}/g, 'auth')
    expect(text).toContain(`\`${named}\``)
  }
})
