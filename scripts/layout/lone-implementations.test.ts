import { expect, it } from 'vitest'
import { loneImplementations } from './lone-implementations.ts'
import { problemsOf } from './shop-tree.ts'

const path = 'services/shop/src/items/till.ts'
const till = 'export interface Till {\n  ring(): void\n}\n'

it('refuses an interface of ours with one class', async () => {
  const one = 'export class RealTill implements Till {\n  ring() {}\n}\n'
  expect(await problemsOf(loneImplementations, { [path]: till + one })).toEqual([
    `${path}:4 is the only class that implements Till: use the class as the type`,
  ])
})

it('allows two classes, in whatever files', async () => {
  const other = { 'services/shop/test/tills.ts': 'export class TestTill implements Till {}\n' }
  expect(
    await problemsOf(loneImplementations, { [path]: `${till}class RealTill implements Till {}\n`, ...other }),
  ).toEqual([])
})

it('allows an interface of a library or of the language', async () => {
  const text = "import type { Plugin } from 'kysely'\nexport class Prefix implements Plugin, AsyncIterable<string> {}\n"
  expect(await problemsOf(loneImplementations, { [path]: text })).toEqual([])
})

const scale = 'export interface Scale {\n  readonly unit: string\n  weigh(): number\n}\n'
const kitchenScale = "class KitchenScale {\n  unit = 'g'\n  weigh() {}\n  clean() {}\n}\n"

it('refuses an exported interface whose members one class has without saying so', async () => {
  expect(await problemsOf(loneImplementations, { [path]: scale + kitchenScale })).toEqual([
    `${path}:1 Scale has its members in the class KitchenScale alone: use the class as the type`,
  ])
})

const provider = scale.replace('Scale', 'ProviderApi')

it('allows an exception, and refuses it once no single class has its members', async () => {
  expect(await problemsOf(loneImplementations, { [path]: provider + kitchenScale })).toEqual([])
  expect(await problemsOf(loneImplementations, { [path]: provider })).toEqual([
    `${path}:1 ProviderApi is no lone interface: take it from the exceptions of lone-implementations.ts`,
  ])
})

it.each([
  ['a second class', scale, kitchenScale.replace('Kitchen', 'Letter')],
  ['an object of a test', scale, "const light = { unit: 'g', weigh: () => 1 }\n"],
  ['an interface that no other file may import', scale.replace('export ', ''), ''],
  ['an interface of data', scale.replace('weigh(): number', 'readonly weigh: number'), ''],
  ['a class that lacks a member', scale.replace('weigh()', 'tare(): void\n  weigh()'), ''],
])('allows a class with the members of an interface, and %s', async (_what, declared, other) => {
  expect(await problemsOf(loneImplementations, { [path]: declared + kitchenScale + other })).toEqual([])
})

const bell = 'export interface Bell {\n  ring(): void\n  mute(): void\n}\n'
const maker = 'export function createBell(): Bell {\n  return { ring() {}, mute() {} }\n}\n'
const elsewhere = 'services/shop/src/items/create-bell.ts'

it('refuses an interface of functions that one object of another file has', async () => {
  expect(await problemsOf(loneImplementations, { [path]: bell, [elsewhere]: maker })).toEqual([
    `${path}:1 Bell has its members in one object of ${elsewhere} alone: declare it there, or take the functions`,
  ])
})

it('allows an interface of functions that an external provider answers', async () => {
  const text = bell.replace('Bell', 'ProviderApi')
  expect(await problemsOf(loneImplementations, { [path]: text, [elsewhere]: maker })).toEqual([])
})

it.each([
  ['beside its only object', { [path]: bell + maker }],
  ['with a second object', { [path]: bell, [elsewhere]: maker + maker }],
  ['with data', { [path]: bell.replace('mute()', 'readonly tone: number\n  mute()'), [elsewhere]: maker }],
  ['without an object', { [path]: bell }],
  ['of a test', { 'services/shop/test/bell.ts': bell, 'services/shop/test/create-bell.ts': maker }],
])('allows an interface of functions %s', async (_what, files) => {
  expect(await problemsOf(loneImplementations, files)).toEqual([])
})
