import { expect, it } from 'vitest'
import { actVerbs } from './act-verbs.ts'
import { problemsOf } from './shop-tree.ts'

const cart = 'services/shop/src/carts/cart.ts'

it.each([
  ['a declaration', 'export function makeCart() {}', 'makeCart', 'create, generate or build'],
  ['a private function', 'async function composeMail() {}', 'composeMail', 'build'],
  ['a constant', 'const noteSale = () => {}', 'noteSale', 'record, remember or add'],
  ['a whole name', 'const note = async () => {}', 'note', 'record, remember or add'],
  ['the second of two acts', 'function findOrMakeCart() {}', 'findOrMakeCart', 'create, generate or build'],
  ['a method', 'class Cart { note() {} }', 'note', 'record, remember or add'],
  ['a private method', 'class Cart { #makeRoom() {} }', 'makeRoom', 'create, generate or build'],
  ['a private field', 'class Cart { readonly #noteSale = () => {} }', 'noteSale', 'record, remember or add'],
  ['a member', 'export const cart = { makeItem: () => {} }', 'makeItem', 'create, generate or build'],
])('refuses %s that begins with another verb for its act', async (_, text, name, instead) => {
  expect(await problemsOf(actVerbs, { [cart]: `\n${text}\n` })).toEqual([
    `${cart}:2 ${name} has another verb for its act: ${instead}, as the tables of CONTRIBUTING.md say`,
  ])
})

it('allows the verbs of the tables, nouns, values, and words that only begin with the letters of a verb', async () => {
  const text = [
    'function createCart() {}',
    'function noteOf(cart) {}',
    'function composeImage() {}',
    'function notesOf(cart) {}',
    'function getOrCreateCart() {}',
    'const colorMakes = () => {}',
    'const notice = () => {}',
    'const note = 1',
    'class Cart { readonly note = 1 }',
  ]
  expect(await problemsOf(actVerbs, { [cart]: text.join('\n') })).toEqual([])
})

it('allows tests their own words', async () => {
  expect(await problemsOf(actVerbs, { 'services/shop/src/carts/cart.test.ts': 'const makeDue = () => {}' })).toEqual([])
})
