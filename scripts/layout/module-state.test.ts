import { expect, it } from 'vitest'
import { moduleState } from './module-state.ts'
import { problemsOf } from './shop-tree.ts'

const item = 'services/shop/src/items/item.ts'
const problem = 'a module keeps no state: make it in a function, or give it the type ReadonlyMap or ReadonlySet'

it.each([
  'let count = 0',
  'export let last: string | undefined',
  'var count = 0',
  'const seen = new Set<string>(); export const see = (name: string) => seen.add(name)',
  'export const known = new Map()',
  'const known: Map<string, number> = new Map(); export const forget = () => known.clear()',
  'const seen: string[] = []; export const see = (name: string) => seen.push(name)',
  'const counts: Record<string, number> = {}; export const see = (name: string) => { counts[name] = 1 }',
  'const state = { count: 0 } as State; export const see = () => { state.count += 1 }',
  'const state = { count: 0 }; export const see = () => state.count++',
  'const state = { seen: new Set() }; export const see = (name: string) => state.seen.add(name)',
  'const last: Last = {}; export const forget = () => { delete last.name }',
  'const last: Last = {}; export const see = (name: string) => Object.assign(last, { name })',
])('refuses %j in a module', async (text) => {
  for (const path of [item, 'packages/database/src/connect.ts', 'migrations/shop/0001-create-items.ts']) {
    expect(await problemsOf(moduleState, { [path]: `${text}\n` })).toEqual([`${path}:1 ${problem}`])
  }
})

it.each([
  'const CODES: ReadonlySet<string> = new Set(["a"])',
  'const TITLES: ReadonlyMap<string, string> = new Map([["a", "b"]])',
  'const CODES = new Set(["a"]); export const has = (code: string) => CODES.has(code)',
  'const readers = new WeakMap<object, string>()',
  'const CODES = ["b", "a"]; export const sorted = () => CODES.toSorted()',
  'const TITLES = { a: "b" }; export const titles = () => Object.assign({}, TITLES)',
  'export function count() { let counted = 0; const seen = new Set(); return [counted, seen] }',
])('allows %j in a module', async (text) => {
  expect(await problemsOf(moduleState, { [item]: `${text}\n` })).toEqual([])
})

it.each([
  'services/shop/src/items/item.test.ts',
  'packages/testing/src/temporary-database.ts',
  'packages/common/src/telemetry/path-of.ts',
])('allows state in %s', async (path) => {
  expect(await problemsOf(moduleState, { [path]: 'let count = 0\n' })).toEqual([])
})

it('refuses an exception that keeps no state', async () => {
  const path = 'packages/common/src/telemetry/path-of.ts'
  expect(await problemsOf(moduleState, { [path]: 'export const paths = []\n' })).toEqual([
    `${path} keeps no state: take it from the exceptions of module-state.ts`,
  ])
})
