import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { checkLayout, rules } from './check-layout.ts'
import { writeShop } from './layout/shop-tree.ts'

it('accepts a tree that keeps every rule', async () => {
  expect(await checkLayout(writeShop())).toEqual([])
})

it('reports the problems of every rule', async () => {
  const item = "import '../plugins/guard.ts'\n/** The time. */ export const nowMs = Date.now()\n"
  expect(await checkLayout(writeShop({ 'services/shop/src/items/item.ts': item, 'docs/a.md': '[b](b.md)\n' }))).toEqual(
    [
      { path: 'services/shop/src/items/item.ts', line: 1, message: 'a folder of a module never imports plugins' },
      {
        path: 'services/shop/src/items/item.ts',
        line: 2,
        message: 'Date.now outside main.ts, deps.ts and config: take it as an argument',
      },
      { path: 'docs/a.md', line: 1, message: 'links to b.md, which is not there' },
      {
        path: 'services/shop/src/items/item.ts',
        message: 'is pure by its place, but reaches Date.now',
      },
    ],
  )
})

it.each(globSync('layout/*.ts', { cwd: import.meta.dirname }).filter((file) => !file.endsWith('.test.ts')))(
  'asks the rule of %s, where it holds one',
  async (file) => {
    const module: Readonly<Record<string, unknown>> = await import(join(import.meta.dirname, file))
    const text = readFileSync(join(import.meta.dirname, file), 'utf8')
    for (const [, name = ''] of text.matchAll(/^export const (\w+): Rule\b/gm)) expect(rules).toContain(module[name])
  },
)
