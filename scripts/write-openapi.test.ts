import { expect, it } from 'vitest'
import { firstDifference } from './write-openapi.ts'

it.each([
  [{ a: 1, b: [1, 2] }, { b: [1, 2], a: 1 }, undefined],
  [{ paths: { '/users': { get: 1 } } }, { paths: { '/users': { get: 2 } } }, 'paths./users.get'],
  [{ paths: { '/users': {} } }, { paths: {} }, 'paths./users'],
  [{ paths: {} }, { paths: { '/users': {} } }, 'paths./users'],
  [{ a: [1, 2] }, { a: [1, 2, 3] }, 'a.2'],
  [{ a: [] }, { a: {} }, 'a'],
  [{}, undefined, 'its root'],
  [{ a: null }, { a: {} }, 'a'],
])('finds the first difference between %j and %j', (left, right, difference) => {
  expect(firstDifference(left, right)).toBe(difference)
})
