import { expect, it } from 'vitest'
import { chapters } from './chapters.ts'

it('has every requirement of levels 1 and 2 of ASVS 5.0.0 once, in order', () => {
  const counts = chapters.map(({ title, requirements }) => [title.split(' ')[0], requirements.length])
  const expected = [27, 11, 19, 10, 9, 35, 18, 7, 7, 29, 14, 9, 13, 9, 13, 16, 0]
  expect(counts).toEqual(expected.map((count, index) => [`V${index + 1}`, count]))
  const ids = chapters.flatMap(({ requirements }) => requirements.map(({ id }) => id))
  expect(ids).toEqual([...new Set(ids)].toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true })))
})
