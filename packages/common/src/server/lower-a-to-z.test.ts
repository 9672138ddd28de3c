import { expect, it } from 'vitest'
import { lowerAToZ } from './lower-a-to-z.ts'

it.each([
  ['Kate.O@EXAMPLE.com', 'kate.o@example.com'],
  ['\u212aate@example.com', '\u212aate@example.com'],
  ['\u0130da.\u00c9va@example.com', '\u0130da.\u00c9va@example.com'],
  ['\uff21nna-9@Example.COM', '\uff21nna-9@example.com'],
  ['', ''],
])('changes A to Z alone: %j', (text, lowered) => {
  expect(lowerAToZ(text)).toBe(lowered)
})
