import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Child, type ChildEnd, reasonOf, startChild } from './processes/child.ts'
import { isAlive } from './processes/process-identity.ts'
import { type SourceWatch, superviseWatched, watchSources } from './service-group.ts'
import { StackFailure } from './stack-failure.ts'

removeFoldersAtEnd()

it('restarts at a change, reports a fault, waits for the next change, and ends', async () => {
  const root = createFolder()
  const file = join(root, 'main.ts')
  const forever = "console.log('up'); setInterval(() => {}, 1e6)\n"
  const said: string[] = []
  const started: Child[] = []
  const logFile = join(root, 'auth.log')
  const start = async () => {
    writeFileSync(logFile, '')
    const child = await startChild({
      name: 'auth',
      program: process.execPath,
      args: [file],
      env: {},
      cwd: root,
      logFile,
    })
    started.push(child)
    return child
  }
  const waitUntilReady = async (child: Child) => {
    let early: ChildEnd | undefined
    void child.ended.then((end) => {
      early = end
    })
    await expect.poll(() => early !== undefined || readFileSync(logFile, 'utf8') === 'up\n').toBe(true)
    if (early) throw new StackFailure([`auth has ended before it was ready (${reasonOf(early)}).`, ...early.tail])
  }
  const endSteps = [{ signal: 'SIGKILL', waitMs: 5_000, target: 'process' }] as const
  writeFileSync(file, forever)
  const options = {
    start,
    waitUntilReady,
    endSteps,
    say: (line: string) => void said.push(line.replace(/[\d.]+ s$/, 'N s')),
  }
  const first = await start()
  await waitUntilReady(first)
  const service = superviseWatched(first, options)

  writeFileSync(file, `${forever}const broken = 1 +;\n`)
  service.change(['main.ts', 'other.ts'])
  await expect.poll(() => said.at(-1)).toBe('auth starts again when a file changes')
  expect(said.splice(0)).toEqual([
    'auth restarts: main.ts and 1 more changed',
    'auth has ended before it was ready (exit status 1).',
    'auth starts again when a file changes',
  ])

  writeFileSync(file, forever)
  service.change(['main.ts'])
  await expect.poll(() => said).toEqual(['auth restarts: main.ts changed', 'auth is ready again after N s'])
  said.length = 0
  process.kill(started.at(-1)?.pid ?? 0, 'SIGKILL')
  await expect.poll(() => said).toEqual(['auth has ended (SIGKILL)', 'auth starts again when a file changes'])

  service.change(['main.ts'])
  await expect.poll(() => said.at(-1)).toBe('auth is ready again after N s')
  await service.end()
  expect(started.map(({ pid }) => isAlive(pid))).toEqual(started.map(() => false))
})

removeFoldersAtEnd()

const root = createFolder()
const write = (path: string, text = '') => {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}
const manifest = (folder: string, name: string, ...dependencies: readonly string[]) =>
  write(
    `${folder}/package.json`,
    JSON.stringify({ name, dependencies: Object.fromEntries(dependencies.map((other) => [other, 'workspace:*'])) }),
  )

let changes: (readonly [string, readonly string[]])[] = []
let watch: SourceWatch
beforeAll(async () => {
  manifest('services/auth', 'auth', '@x/http', '@x/migrations', 'zod')
  manifest('services/payments', 'payments', '@x/http')
  manifest('packages/http', '@x/http', '@x/base')
  manifest('packages/base', '@x/base', '@x/http')
  manifest('packages/unused', '@x/unused')
  manifest('migrations', '@x/migrations')
  for (const folder of ['services/auth', 'services/payments', 'packages/http', 'packages/base', 'packages/unused'])
    write(`${folder}/src/main.ts`)
  write('migrations/auth/0001.sql')
  const onChange = (service: string, files: readonly string[]) => changes.push([service, files])
  watch = await watchSources({
    root,
    services: ['auth', 'payments'],
    onChange,
    onProblem: (problem) => expect.fail(problem),
  })
})
afterAll(() => watch.close())

/** Returns the changes that `act` causes, after the quiet time. */
async function changesOf(act: () => void, count: number): Promise<typeof changes> {
  changes = []
  act()
  await expect.poll(() => changes.length).toBe(count)
  return changes
}

it('tells a service of its own files, and again after one was replaced by rename', async () => {
  const file = 'services/auth/src/main.ts'
  for (const text of ['one', 'two']) {
    write('services/draft', text)
    const replace = () => renameSync(join(root, 'services/draft'), join(root, file))
    expect(await changesOf(replace, 1)).toEqual([['auth', [file]]])
  }
})

it('tells every service of a package that it depends on through another, and joins changes that come together', async () => {
  const change = () => {
    write('packages/base/src/main.ts', 'x')
    write('packages/base/src/new/file.ts')
    write('migrations/auth/0001.sql', 'SELECT 1')
    write('packages/unused/src/main.ts', 'x')
    write('packages/base/src/main.test.ts', 'x')
    write('packages/base/src/notes.md', 'x')
  }
  const files = ['packages/base/src/main.ts', 'packages/base/src/new/file.ts']
  expect(await changesOf(change, 2)).toEqual([
    ['auth', ['migrations/auth/0001.sql', ...files]],
    ['payments', files],
  ])
})
