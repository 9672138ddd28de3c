import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type SourceWatch, watchSources } from './watch-sources.ts'

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

/** The changes that one act causes, after the quiet time. */
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
