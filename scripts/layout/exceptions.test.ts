import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { exceptListed, shrinkLists } from './exceptions.ts'
import { readSourceTree } from './source-tree.ts'
import { writeShop } from './test/shop-tree.ts'

const path = 'scripts/layout/exceptions/tidy.json'
const problems = [
  { path: 'a.ts', line: 1, message: 'is not tidy' },
  { path: 'a.ts', line: 9, message: 'is not tidy' },
  { path: 'b.ts', message: 'is not tidy' },
]
const surplus = {
  path,
  message: 'lists c.ts, which keeps the rule: node scripts/check-layout.ts --shrink',
  surplus: 'c.ts',
}
const treeWith = (list: readonly string[]) => readSourceTree(writeShop({ [path]: JSON.stringify(list) }))

it('leaves every problem where there is no list', () => {
  expect(exceptListed(readSourceTree(writeShop()), 'tidy', problems)).toEqual(problems)
})

it('excepts every problem of a listed file', () => {
  expect(exceptListed(treeWith(['a.ts']), 'tidy', problems)).toEqual([problems[2]])
})

it('refuses an entry that is no exception', () => {
  expect(exceptListed(treeWith(['a.ts', 'b.ts', 'c.ts']), 'tidy', problems)).toEqual([surplus])
})

it('refuses a list that is no array of texts', () => {
  const tree = readSourceTree(writeShop({ [path]: '{ "a.ts": true }' }))
  expect(() => exceptListed(tree, 'tidy', problems)).toThrow('expected array')
})

it('removes a list without entries', () => {
  const { root } = treeWith(['c.ts'])
  expect(shrinkLists(root, [surplus])).toEqual([])
  expect(existsSync(join(root, path))).toBe(false)
})

it('shrinks a list by its surplus entries, and returns the other problems', () => {
  const { root } = treeWith(['a.ts', 'c.ts'])
  expect(shrinkLists(root, [...problems, surplus])).toEqual(problems)
  expect(readFileSync(join(root, path), 'utf8')).toBe('[\n  "a.ts"\n]\n')
})
