import { VALUE_TEXTS } from '@trestle/endpoints/error-texts.ts'
import { expect, it } from 'vitest'
import { filtersTooLong, tooManyFilters, tooManyFilterValues, validationError } from '../errors.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { nameOfSelection, readSelection } from './product-query.ts'

const attributes = (count: number, value = '1') =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`attributes.k${i}`, value]))
const values = (count: number) => Array.from({ length: count }, (_, i) => i).join(',')

it('a selection leaves out what was not given', () => {
  expect(readSelection({ sort: 'id', sku: 'A', q: undefined })).toEqual({
    sort: 'id',
    filters: [{ kind: 'sku', values: ['A'] }],
  })
})

it('a selection names each parameter that is no filter, by 64 characters', () => {
  const long = 'x'.repeat(65)
  expect(() => readSelection({ sort: 'id', price: '1', [long]: '1' })).toThrow(
    validationError([
      { path: 'price', message: FIELD_TEXTS.unprefixed({ name: 'price' }) },
      { path: 'x'.repeat(64), message: VALUE_TEXTS.unknown },
    ]),
  )
})

it('a selection has at most 10 filters', () => {
  expect(readSelection({ sort: 'id', ...attributes(10) }).filters).toHaveLength(10)
  expect(() => readSelection({ sort: 'id', ...attributes(11) })).toThrow(tooManyFilters(10))
})

it('a selection lists at most 100 values in all', () => {
  const lists = (count: number) => ({ sort: 'id', 'sku[in]': values(50), 'attributes.n[in]': values(count) }) as const
  expect(readSelection(lists(50)).filters).toHaveLength(2)
  expect(() => readSelection(lists(51))).toThrow(tooManyFilterValues(100))
})

it('a selection has at most 6,000 characters, as a URL writes them', () => {
  const name = 'attributes.a='
  const text = (length: number) => ({ sort: 'id', 'attributes.a': 'é'.repeat(length) }) as const
  const fits = (6_000 - name.length) / 6
  expect(readSelection(text(Math.floor(fits))).filters).toHaveLength(1)
  expect(() => readSelection(text(Math.ceil(fits)))).toThrow(filtersTooLong(6_000))
})

it('the name of a selection does not depend on the order of its parameters, but on their values', () => {
  const name = nameOfSelection({ sort: 'id', sku: 'A', q: 'b' })
  expect(nameOfSelection({ q: 'b', sku: 'A', sort: 'id', contains: undefined })).toBe(name)
  for (const other of [
    { sort: 'sku', sku: 'A', q: 'b' },
    { sort: 'id', sku: 'A' },
    { sort: 'id', sku: 'b', q: 'A' },
  ]) {
    expect(nameOfSelection(other)).not.toBe(name)
  }
})
