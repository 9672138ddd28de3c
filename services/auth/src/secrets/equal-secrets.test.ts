import { expect, it } from 'vitest'
import { equalSecrets } from './equal-secrets.ts'

it.each([
  { case: 'equal texts', left: 'ä', right: 'ä', equal: true },
  { case: 'texts that end differently', left: 'secret-1', right: 'secret-2', equal: false },
  { case: 'a text and its beginning', left: 'secret', right: 'sec', equal: false },
  { case: 'empty texts', left: '', right: '', equal: true },
  { case: 'a text and its bytes', left: 'ä', right: Uint8Array.of(0xc3, 0xa4), equal: true },
  { case: 'bytes and none', left: Buffer.alloc(32), right: Buffer.alloc(0), equal: false },
])('finds $case equal: $equal', ({ left, right, equal }) => {
  expect(equalSecrets(left, right)).toBe(equal)
})
