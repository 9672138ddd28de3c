import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFullCaches } from './compile-cache-setup.ts'
import { createFolder, removeFoldersAtEnd } from './temporary-folder.ts'

removeFoldersAtEnd()

it('removes the cache that holds too many modules, and leaves that of another version', async () => {
  const folder = createFolder()
  for (const [version, modules] of [
    ['v24.20.0', ['a', 'b', 'c']],
    ['v24.21.0', ['a', 'b']],
  ] as const) {
    mkdirSync(join(folder, version))
    for (const module of modules) writeFileSync(join(folder, version, module), '')
  }
  await emptyFullCaches(folder, 2)
  expect(readdirSync(folder)).toEqual(['v24.21.0'])
})

it('does nothing before the first run', async () => {
  await expect(emptyFullCaches(join(createFolder(), 'missing'), 2)).resolves.toBeUndefined()
})
